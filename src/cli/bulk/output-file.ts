import { open } from 'node:fs/promises'
import { isPipe, openPrivate } from '../../files/private-file.ts'
import { CliError, UsageError, withName } from '../command/cli-error.ts'
import { writeOut } from '../command/output.ts'
import { type Dialect, formatRows } from './csv.ts'

export interface OutputFile {
  /** The size of the file, in bytes. The journal stores this size, and a resumed run truncates the file to it. */
  readonly bytes: number
  append(rows: readonly (readonly (string | null)[])[]): Promise<void>
  sync(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Opens `path` and truncates it to `keep` bytes. */
export async function openFile(path: string, keep: number) {
  const file = keep === 0 ? await openPrivate(path, 'w') : await open(path, 'r+')
  // Detect a device such as /dev/null, which cannot be truncated or synced.
  const isFile = (await file.stat()).isFile()
  if (isFile) await file.truncate(keep)
  let bytes = keep
  return {
    get bytes() {
      return bytes
    },
    async write(text: string) {
      const buffer = Buffer.from(text)
      await withName(path, async () => {
        for (let start = 0; start < buffer.length; ) {
          const { bytesWritten } = await file.write(buffer, start, buffer.length - start, bytes)
          start += bytesWritten
          bytes += bytesWritten
        }
      })
    },
    async sync() {
      if (isFile) await file.datasync()
    },
    [Symbol.asyncDispose]: () => file.close(),
  }
}

/** Opens stdout as an output. Its size is not tracked, because stdout cannot be truncated. */
const openStdout = () => ({
  bytes: 0,
  async write(text: string) {
    if (!(await writeOut(text))) throw new CliError('stdout was closed by its reader', { code: 'EPIPE' })
  },
  sync: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
})

/**
 * Opens a CSV file, and truncates it to `keep` bytes. If `keep` is 0, writes the header. The path `-` means stdout, for
 * which `keep` must be 0.
 */
export async function openOutput(
  path: string,
  { keep, header, dialect }: { keep: number; header: readonly string[]; dialect: Dialect },
): Promise<OutputFile> {
  const file = path === '-' ? openStdout() : await openFile(path, keep)
  if (keep === 0) await file.write(`${dialect.bom ? '\uFEFF' : ''}${formatRows([header], dialect)}`)
  return Object.assign(file, {
    append: async (rows: Parameters<OutputFile['append']>[0]) => {
      if (rows.length > 0) await file.write(formatRows(rows, dialect))
    },
  })
}

/** Rejects a pipe, which cannot be truncated. @throws UsageError */
export function rejectPipe(path: string, hint: string): void {
  if (isPipe(path)) throw new UsageError(`${path} is a pipe, but a file is required`, { hint })
}
