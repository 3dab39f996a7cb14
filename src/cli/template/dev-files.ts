import { stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { below, type Issue, listIssues } from '../../core/errors.ts'
import { checkDefinition } from '../../core/rules/template/definition.ts'
import { openCsv } from '../bulk/csv.ts'
import { CliError, streamNamed, withName } from '../command/cli-error.ts'
import { describeFailure, locateIssues } from '../command/failure.ts'
import { draftOf, readTemplateFile, type TemplateFile } from './template-file.ts'

const MAX_HOLDERS = 100

interface Holder {
  externalPassId: string
  label: string
  variables: Record<string, string>
}

export class DevFiles {
  readonly #path: string
  readonly #rows: string | undefined
  #file: TemplateFile | undefined
  /** The files that made the last read fail, such as missing images. Watched, so that their repair is noticed. */
  #unusable: string[] = []
  /** Cached, because reading rows is slow, and most changes concern only the template. */
  #holders: { version: string; holders: Holder[] } | undefined

  constructor(path: string, rows: string | undefined) {
    this.#path = path
    this.#rows = rows
  }

  /** Returns the absolute paths of all files that were read, to watch them for changes. */
  paths(): string[] {
    const images = this.#file?.images.map(({ path }) => path) ?? []
    const paths = [this.#path, this.#rows, ...images, ...this.#unusable].filter((path) => path !== undefined)
    return [...new Set(paths.map((path) => resolve(path)))]
  }

  /** Reads all files again. Returns errors as lines with positions. */
  async read() {
    try {
      const content = await this.#readContent()
      this.#unusable = []
      return { content }
    } catch (error) {
      this.#unusable = filesOf(error)
      const { message, reasons } = describeFailure(error)
      return { faults: [message, ...reasons] }
    }
  }

  /** Adds to each issue its position in the text that was read last. */
  async locate<T extends Issue>(notes: readonly T[]) {
    return locateIssues(this.#file?.text ?? '', notes)
  }

  async #readContent() {
    const file = await readTemplateFile(this.#path)
    this.#file = file
    const holders = this.#rows === undefined ? [] : await this.#readHolders(this.#rows)
    const { images, faults, ...content } = draftOf(file)
    const problems: Issue[] = listIssues(below('definition', [...checkDefinition(content.definition), ...faults]))
    return {
      file: basename(this.#path),
      name: file.name,
      ...content,
      images,
      holders,
      problems: await locateIssues(file.text, problems),
    }
  }

  async #readHolders(path: string): Promise<Holder[]> {
    const { ino, size, mtimeNs } = await withName(path, () => stat(path, { bigint: true }))
    const version = [ino, size, mtimeNs].join()
    if (this.#holders?.version !== version) this.#holders = { version, holders: await readHolders(path) }
    return this.#holders.holders
  }
}

function filesOf(error: unknown): string[] {
  const { file, issues = [] }: Record<string, unknown> =
    error instanceof CliError ? error.details : { file: Object(error).path }
  return [file, ...(issues as { file?: string }[]).map(({ file }) => file)].filter((one) => typeof one === 'string')
}

/** Reads the first rows in the format of `passes issue`: externalPassId, label, and a column for each variable. */
async function readHolders(path: string): Promise<Holder[]> {
  const { header, rows } = await openCsv(streamNamed(path), { rawCells: false })
  const holders: Holder[] = []
  for await (const { cells, line, problem } of rows) {
    if (problem !== undefined) throw new CliError(`${path}:${line} ${problem}`)
    // An empty cell means no value.
    const {
      externalPassId = '',
      label = '',
      ...variables
    }: Record<string, string> = Object.fromEntries(
      header.map((name, index) => [name, cells[index] ?? '']).filter(([, value]) => value !== ''),
    )
    holders.push({ externalPassId, label, variables })
    if (holders.length === MAX_HOLDERS) break
  }
  return holders
}
