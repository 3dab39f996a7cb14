/**
 * Imports a built module by its path in dist. The code that tsx generates names each function again whenever it is
 * created. That takes a tenth of the time of small functions, and no server does it.
 */
export async function built<Module>(path: string): Promise<Module> {
  return (await import(new URL(`../../dist/${path}`, import.meta.url).href)) as Module
}
