import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { replacePrivateSync } from '../../files/private-file.ts'
import { type JournalLock, lockJournal } from '../bulk/journal-lock.ts'
import { CliError } from '../command/errors.ts'

const Content = z.record(z.string(), z.string().nullable())

/**
 * Where the signing secrets of new webhooks are kept, by URL: the server shows each once. The file is made for its owner
 * alone (0600). Null stands for one whose making has begun.
 */
export class SecretsFile {
  readonly path: string
  /** Secrets that this run has written. */
  written = 0
  readonly #note: (message: string) => void
  #content: Record<string, string | null>
  #lock: JournalLock | undefined

  private constructor(path: string, content: Record<string, string | null>, note: (message: string) => void) {
    this.path = path
    this.#content = content
    this.#note = note
  }

  /** @throws CliError where something else stands there */
  static async open(path: string, note: (message: string) => void): Promise<SecretsFile> {
    return new SecretsFile(path, await readContent(path), note)
  }

  /** Whether a webhook was about to be made and nobody knows its secret. */
  isPending(url: string): boolean {
    return Object.hasOwn(this.#content, url) && this.#content[url] === null
  }

  async set(url: string, secret: string | null): Promise<void> {
    await this.#change((content) => ({ ...content, [url]: secret }))
    if (secret !== null) this.written += 1
  }

  async delete(url: string): Promise<void> {
    await this.#change((content) => Object.fromEntries(Object.entries(content).filter(([other]) => other !== url)))
  }

  /** Lets other runs write it again. */
  async close(): Promise<void> {
    await this.#lock?.release()
  }

  /** @throws CliError where another run writes to it */
  async #change(change: (content: Record<string, string | null>) => Record<string, string | null>): Promise<void> {
    if (!this.#lock) {
      this.#lock = await lockJournal(this.path, this.#note)
      this.#content = await readContent(this.path)
    }
    this.#lock.assertHeld()
    this.#content = change(this.#content)
    replacePrivateSync(this.path, `${JSON.stringify(this.#content, undefined, 2)}\n`)
  }
}

async function readContent(path: string): Promise<Record<string, string | null>> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
  try {
    return Content.parse(JSON.parse(text))
  } catch (error) {
    throw new CliError(`${path} is not a file of secrets`, {
      hint: 'name another with --secrets, or move it away.',
      cause: error,
    })
  }
}
