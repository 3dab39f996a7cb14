import { UsageError } from '../command/cli-error.ts'

/** Parses the path of a file. @throws UsageError for `-`, which other commands take for stdin or stdout */
export async function parsePath(path: string): Promise<string> {
  if (path !== '-') return path
  throw new UsageError('This command requires a file, not - for stdin or stdout', {
    hint: 'give a file name; for a file called -, give ./-',
  })
}
