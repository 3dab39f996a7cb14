import { type FileHandle, open } from 'node:fs/promises'
import { isPipe, openPrivate } from '../../files/private-file.ts'
import { CliError, UsageError, withName } from '../command/cli-error.ts'
import { writeOut } from '../command/output.ts'
import { type Dialect, formatRows } from './csv.ts'

/** A CSV output file, which a resumed run appends to. */
export interface OutputFile {
  /** The number of bytes written. The journal stores it, and a resumed run truncates the file to it. */
  readonly bytes: number
  append(rows: readonly (readonly (string | null)[])[]): Promise<void>
  sync(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Opens `path` and truncates it to `keep` bytes. If `keep` is 0, writes the header. */
export async function openOutput(
  path: string,
  options: { keep: number; header: readonly string[]; dialect: Dialect },
): Promise<OutputFile> {
  const { keep, header, dialect } = options
  const file = keep === 0 ? await openPrivate(path, 'w') : await open(path, 'r+')
  // Detect a device such as /dev/null, which cannot be truncated or synced.
  const isFile = (await file.stat()).isFile()
  if (isFile) await file.truncate(keep)
  let bytes = keep
  const write = async (text: string) => {
    bytes += await withName(path, () => writeAt(file, Buffer.from(text), bytes))
  }
  if (keep === 0) await write(`${dialect.bom ? '\uFEFF' : ''}${formatRows([header], dialect)}`)
  return {
    get bytes() {
      return bytes
    },
    append: (rows) => (rows.length > 0 ? write(formatRows(rows, dialect)) : Promise.resolve()),
    sync: async () => {
      if (isFile) await file.datasync()
    },
    [Symbol.asyncDispose]: () => file.close(),
  }
}

/** Opens stdout as an output. Its size is not tracked, because stdout cannot be truncated. */
export async function openStdout({
  header,
  dialect,
}: {
  header: readonly string[]
  dialect: Dialect
}): Promise<OutputFile> {
  const write = async (text: string) => {
    if (!(await writeOut(text))) throw new CliError('stdout was closed by its reader', { code: 'EPIPE' })
  }
  await write(`${dialect.bom ? '\uFEFF' : ''}${formatRows([header], dialect)}`)
  return {
    bytes: 0,
    append: (rows) => (rows.length > 0 ? write(formatRows(rows, dialect)) : Promise.resolve()),
    sync: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  }
}

/** Rejects a pipe, which cannot be truncated. @throws UsageError */
export function rejectPipe(path: string, hint: string): void {
  if (isPipe(path)) throw new UsageError(`${path} is a pipe, but a file is required`, { hint })
}

export async function writeAt(file: FileHandle, buffer: Buffer, position: number): Promise<number> {
  for (let written = 0; written < buffer.length; ) {
    written += (await file.write(buffer, written, buffer.length - written, position + written)).bytesWritten
  }
  return buffer.length
}
