/**
 * Imports a built module by its path in dist. Do not measure code that tsx generates, because it sets the name of each
 * function whenever the function is created. That takes a tenth of the time of small functions, and does not happen in
 * a server.
 */
export async function built<Module>(path: string): Promise<Module> {
  return (await import(new URL(`../../dist/${path}`, import.meta.url).href)) as Module
}
