import { createReadStream } from 'node:fs'
import { basename, resolve } from 'node:path'
import { below, type Issue, listIssues } from '../../core/errors.ts'
import { checkDefinition } from '../../core/rules/template/definition.ts'
import { openCsv } from '../bulk/csv.ts'
import { CliError } from '../command/errors.ts'
import { describeFailure, locateIssues } from '../command/failure.ts'
import { draftOf, readTemplateFile, type TemplateFile } from './template-file.ts'

/** Only the first of a file are there to choose from. */
const MAX_HOLDERS = 100

/** A template file with its images, and a CSV file of holders, as they are read again and again while somebody works on them. */
export class DevFiles {
  readonly #path: string
  readonly #rows: string | undefined
  /** The last that could be read. */
  #file: TemplateFile | undefined

  constructor(path: string, rows: string | undefined) {
    this.#path = path
    this.#rows = rows
  }

  /** The files that were read, by absolute path: a change of one is a reason to read again. */
  paths(): string[] {
    const images = this.#file?.images.map(({ path }) => path) ?? []
    return [this.#path, ...(this.#rows === undefined ? [] : [this.#rows]), ...images].map((path) => resolve(path))
  }

  /** Everything afresh, or why it cannot be read: a line each, with the place in the file. */
  async read() {
    try {
      return { content: await this.#readContent() }
    } catch (error) {
      const { message, reasons } = describeFailure(error)
      return { faults: [message, ...reasons] }
    }
  }

  /** Finds notes in the text that was read last. */
  async locate<T extends Issue>(notes: readonly T[]) {
    return locateIssues(this.#file?.text ?? '', notes)
  }

  async #readContent() {
    const file = await readTemplateFile(this.#path)
    this.#file = file
    const holders = this.#rows === undefined ? [] : await readHolders(this.#rows)
    const { images, faults, ...content } = draftOf(file)
    const problems: Issue[] = [...listIssues(below('definition', checkDefinition(content.definition))), ...faults]
    return {
      file: basename(this.#path),
      name: file.name,
      ...content,
      images,
      holders,
      problems: await locateIssues(file.text, problems),
    }
  }
}

/** The first rows of a file as passes issue takes it: externalPassId, label, and a column for each variable. */
async function readHolders(path: string) {
  const { header, rows } = await openCsv(createReadStream(path), { rawCells: false })
  const holders = []
  for await (const { cells, line, problem } of rows) {
    if (problem !== undefined) throw new CliError(`${path}:${line} ${problem}`)
    // An empty cell is not given.
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
