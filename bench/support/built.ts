/**
 * A module as `npm run build` made it, by its path in dist. What tsx makes of a source file gives each function its name again
 * whenever it is made, which takes a tenth of the time that small functions take, and which no server does.
 */
export async function built<Module>(path: string): Promise<Module> {
  return (await import(new URL(`../../dist/${path}`, import.meta.url).href)) as Module
}
