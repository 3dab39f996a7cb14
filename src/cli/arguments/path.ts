import { UsageError } from '../command/cli-error.ts'

/** Parses the path of a file. @throws UsageError for `-`, which other commands take for stdin or stdout */
export async function parsePath(path: string): Promise<string> {
  if (path !== '-') return path
  throw new UsageError('This command takes a file, and not - for stdin or stdout', {
    hint: 'name a file, or ./- for one with that name.',
  })
}
