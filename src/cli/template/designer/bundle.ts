import { constants, type Stats } from 'node:fs'
import { open, opendir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type ImageRole, imageRoles } from '../../../core/contract/schemas/definition.ts'
import { Languages } from '../../../core/contract/schemas/language-tags.ts'
import { MAX_IMAGE_BYTES } from '../../../core/contract/templates/images.ts'
import { isJsonObject, parseJson } from '../../../core/json.ts'
import { findLossyNumbers } from '../../../core/rules/lists/json-numbers.ts'
import { inspectImage } from '../../../core/rules/template/image.ts'
import { CliError, withName } from '../../command/cli-error.ts'
import { programName } from '../../command/program.ts'
import { unzip } from '../../device/apple-package.ts'
import { type PassStrings, parseStrings } from '../../device/apple-strings.ts'
import type { JsonObject, Note } from './report.ts'

/** The content of a `.pkpasstemplate`: a folder that the Finder shows as a file, or a ZIP archive of this folder. */
export interface DesignerBundle {
  pass: JsonObject
  /** The images in their largest scale, by role and then by language ('' for all languages). */
  images: Map<ImageRole, Map<string, Buffer>>
  strings: PassStrings
  /** The files that were not read, and the numbers in pass.json that JSON does not preserve. */
  unmapped: Note[]
  /** Whether the file might be an issued pass, because it lacks the tooling.json of Pass Designer. */
  canBePass: boolean
}

const MAX_FILES = 500
const MAX_FILE_BYTES = 16 * 1024 * 1024
const MAX_BYTES = 64 * 1024 * 1024
const MAX_JSON_BYTES = 1024 * 1024
/**
 * The maximum depth of a template, because a deeper template could overflow the stack. Pass Designer writes templates
 * with a depth of less than 10.
 */
const MAX_DEPTH = 32

/** @throws CliError if the path is not a template of Pass Designer, or the template is too large */
export async function readDesignerBundle(path: string): Promise<DesignerBundle> {
  const stats = await withName(path, () => stat(path))
  const unmapped: Note[] = []
  const files = stats.isDirectory() ? await readFolder(path, unmapped) : inBundle(path, await readArchive(path, stats))
  const json = files.get('pass.json')
  if (!json) throw new CliError(`${path} has no pass.json, so it is not a template of Pass Designer`)
  if (files.has('signature') || files.has('manifest.json')) {
    throw new CliError(`${path} is a signed pass: it contains the values of a holder instead of examples`, {
      hint: `import the .pkpasstemplate instead; to read the passes of another provider, run "${programName()} packages".`,
    })
  }
  files.delete('pass.json')
  const text = json.toString().replace(/^\uFEFF/, '')
  const pass = json.length > MAX_JSON_BYTES ? undefined : parseJson(text)
  if (!isJsonObject(pass)) throw new CliError(`pass.json of ${path} is not a JSON object of at most 1 MiB`)
  if (isDeeper(pass, MAX_DEPTH)) throw new CliError(`pass.json of ${path} is nested more than ${MAX_DEPTH} levels deep`)
  for (const { path, message } of findLossyNumbers(text)) unmapped.push({ path: path.join('.'), reason: message })
  return { pass, ...sortFiles(files, unmapped), unmapped, canBePass: !files.has('tooling.json') }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((item) => isDeeper(item, levels - 1))
}

/** Reads the regular files of a folder and of its language folders. Skips links, which could lead out of the folder. */
async function readFolder(root: string, unmapped: Note[]): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>()
  const pending = ['']
  let [count, bytes] = [0, 0]
  for (const folder of pending) {
    for await (const entry of await opendir(join(root, folder))) {
      count += 1
      if (count > MAX_FILES) throw new CliError(`${root} has more than ${MAX_FILES} files`)
      const name = `${folder}${entry.name}`
      if (entry.isFile()) {
        const content = await readRegular(join(root, name))
        bytes += content.length
        if (bytes > MAX_BYTES) throw new CliError(`${root} has more than ${MAX_BYTES / 1024 / 1024} MiB`)
        files.set(name, content)
      } else if (entry.isDirectory() && folder === '' && name.endsWith('.lproj')) pending.push(`${name}/`)
      else if (!entry.isFile()) unmapped.push({ path: name, reason: 'Is not a regular file' })
    }
  }
  return files
}

async function readRegular(path: string): Promise<Buffer> {
  return withName(path, async () => {
    const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
    try {
      const { size } = await file.stat()
      if (size > MAX_FILE_BYTES) throw new CliError(`${path} has more than ${MAX_FILE_BYTES / 1024 / 1024} MiB`)
      return await file.readFile()
    } finally {
      await file.close()
    }
  })
}

async function readArchive(path: string, stats: Stats): Promise<Map<string, Buffer>> {
  if (!stats.isFile() || stats.size > MAX_BYTES) {
    throw new CliError(`${path} is neither a folder nor a ZIP archive of at most ${MAX_BYTES / 1024 / 1024} MiB`)
  }
  const archive = await withName(path, () => readFile(path))
  try {
    return unzip(archive)
  } catch (error) {
    throw new CliError(`${path} cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

/** Returns the files of the bundle, which is at the top of an archive or one folder down. */
function inBundle(path: string, archive: Map<string, Buffer>): Map<string, Buffer> {
  const tops = [...archive.keys()].flatMap((name) => /^(?!__MACOSX\/)([^/]+\/)?pass\.json$/.exec(name)?.[1] ?? [])
  if (archive.has('pass.json')) tops.unshift('')
  if (tops.length > 1 && tops[0] !== '') {
    throw new CliError(`${path} has several templates: ${tops.map((top) => top.slice(0, -1)).join(', ')}`, {
      hint: 'import one of them at a time.',
    })
  }
  const [top = ''] = tops
  const files = [...archive].filter(([name]) => name.startsWith(top) && !name.endsWith('/'))
  return new Map(files.map(([name, bytes]) => [name.slice(top.length), bytes]))
}

/** Files that the Finder and the editor add. They have no effect on a pass. */
const IGNORED = /^(?:tooling\.json|(?:.*\/)?\.DS_Store|__MACOSX\/.*)$/

/** All image roles except the hero image, which Pass Designer does not have. */
const roles = imageRoles.filter((role) => role !== 'hero')
const IMAGE = new RegExp(`^(?:([^/]+)\\.lproj/)?(${roles.join('|')})(?:@([23])x)?\\.(png|pdf)$`)
const STRINGS = /^([^/]+)\.lproj\/pass\.strings$/

const Language = Languages.shape.default

function sortFiles(files: Map<string, Buffer>, unmapped: Note[]): Pick<DesignerBundle, 'images' | 'strings'> {
  const images: DesignerBundle['images'] = new Map()
  const strings = new Map<string, Record<string, string>>()
  const byName = [...files].toSorted(([one], [other]) => (one < other ? -1 : 1))
  const largestFirst = byName.toSorted(([one], [other]) => scaleOf(other) - scaleOf(one))
  for (const [path, bytes] of largestFirst) {
    if (IGNORED.test(path)) continue
    const [, imageLanguage = '', role, , type] = IMAGE.exec(path) ?? []
    const language = role === undefined ? STRINGS.exec(path)?.[1] : imageLanguage
    const reason = language === undefined ? 'Has no use in a template' : problemOf(language, type, bytes)
    if (language === undefined || reason !== undefined) unmapped.push({ path, reason: reason! })
    else if (role === undefined) strings.set(language, parseStrings(bytes)!)
    else {
      const byLanguage = images.get(role as ImageRole) ?? new Map<string, Buffer>()
      images.set(role as ImageRole, byLanguage)
      if (!byLanguage.has(language)) byLanguage.set(language, bytes)
    }
  }
  return { images, strings: Object.fromEntries(strings) }
}

function scaleOf(name: string): number {
  return Number(/@([23])x\./.exec(name)?.[1] ?? 1)
}

function problemOf(language: string, type: string | undefined, bytes: Buffer): string | undefined {
  if (language !== '' && !Language.safeParse(language).success) return `${language} is not a language such as pt-BR`
  if (type === undefined) return parseStrings(bytes) ? undefined : 'Is not a strings file'
  if (type === 'pdf') return 'Android phones cannot show a PDF: export the image as PNG'
  if (bytes.length > MAX_IMAGE_BYTES) return `Has ${bytes.length} bytes, and at most ${MAX_IMAGE_BYTES} are allowed`
  const facts = inspectImage(bytes)
  return 'fault' in facts ? `The image ${facts.fault}` : undefined
}
