import { z } from 'zod'
import { CliError } from '../command/errors.ts'
import { call } from './http.ts'

/** What a server says at /sandbox of the emulators that phones talk to. */
const Directory = z.object({
  apple: z.object({ control: z.url(), rootPem: z.string() }).nullable(),
  google: z.object({ url: z.url() }).nullable(),
})
export type Directory = z.output<typeof Directory>

/** The directory of the server that made a hosted link. */
export function directoryOf(link: string): string {
  const url = new URL(link)
  const [, base] = /^(.*)\/l\/[^/]+$/.exec(url.pathname) ?? []
  if (base === undefined) {
    throw new CliError(`${link} is not a hosted link`, { hint: 'passes pass get ID shows the links of a pass.' })
  }
  return `${url.origin}${base}/sandbox`
}

/** @throws CliError where the platform is not sandboxed there: no virtual phone can reach the real one. */
export async function readDirectory<P extends keyof Directory>(
  directory: string,
  platform: P,
): Promise<NonNullable<Directory[P]>> {
  const answer = await call(directory)
  const found = Directory.safeParse(answer.json).data?.[platform]
  if (answer.status === 200 && found) return found
  throw new CliError(`${new URL(directory).origin} does not run ${platform} in the sandbox`, {
    code: 'NOT_SANDBOXED',
    hint: 'virtual phones work with servers that have no credentials of that platform; take a real phone.',
  })
}
