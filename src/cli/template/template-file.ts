import { readdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Args } from '@oclif/core'
import { z } from 'zod'
import { projects } from '../../core/contract/projects.ts'
import { Definition, imageRoles, PassType, type WrittenDefinition } from '../../core/contract/schemas/definition.ts'
import { type ImageType, MAX_IMAGE_BYTES } from '../../core/contract/templates/images.ts'
import { TemplateKey, templates } from '../../core/contract/templates/templates.ts'
import { below, type Issue, listIssues, parseAs } from '../../core/errors.ts'
import { contentId, Uuid } from '../../core/ids.ts'
import { checkDefinition } from '../../core/rules/template/definition.ts'
import { inLanguage } from '../../core/rules/template/definition-languages.ts'
import { imageTypeOf, inspectImage } from '../../core/rules/template/image.ts'
import { placeholdersIn, stringsDeep } from '../../core/rules/template/placeholder.ts'
import { NIL_UUID } from '../../core/uuid.ts'
import { CliError, readNamed, UsageError, withName } from '../command/cli-error.ts'
import { describeFailure } from '../command/failure.ts'
import { fileError, readAll, readJsonFile } from './json-file.ts'

/**
 * A template as a file. `design.images`, and the defaults and examples of image variables, hold paths relative to this
 * file, or ids of uploaded images.
 */
export interface TemplateFile {
  path: string
  text: string
  key: string | undefined
  name: string
  description: string | undefined
  /** The name of the template's project; `null` for none, `undefined` if the file does not specify a project. */
  project?: string | null | undefined
  passType: PassType
  images: NamedImage[]
  /** The definition before the upload: image paths are replaced by the nil id. */
  definition: WrittenDefinition
  /**
   * Returns the definition with each image replaced by its uploaded id. `ids` maps the image names in the file to ids.
   */
  withImages: (ids: ReadonlyMap<string, string>) => WrittenDefinition
}

interface NamedImage extends ImageFile {
  name: string
  /** The path of the image's first use in the definition. */
  place: (string | number)[]
}

const Envelope = z.strictObject({
  $schema: z.string().optional(),
  key: TemplateKey.optional(),
  name: templates.create.body.shape.name,
  description: templates.create.body.shape.description.optional(),
  project: projects.create.body.shape.name.nullable().optional(),
  passType: PassType,
  definition: z.looseObject({
    design: z.looseObject({
      images: z.partialRecord(z.enum(imageRoles), z.union([z.string(), z.looseObject({})])).optional(),
    }),
  }),
})

/**
 * Reads a template file and its images, and validates them with the server's rules before anything is sent.
 * @throws CliError with all issues in `details.issues`, each with line and column
 */
export async function readTemplateFile(path: string): Promise<TemplateFile> {
  const { text, value } = await readJsonFile(path, Envelope, 'a template file')
  const { key, name, description, project, passType, definition: raw } = value
  const files = namedFiles(raw)
  const nilIds = new Map(files.map(({ name }) => [name, NIL_UUID]))
  const parsed = parseAs(Definition, replaceImages(raw, nilIds))
  if ('issues' in parsed) {
    const issues = [...below('definition', parsed.issues)]
    throw await fileError({ path, text }, 'does not match the schema of a definition', issues)
  }
  return {
    path,
    text,
    key,
    name,
    description,
    project,
    passType,
    images: await readNamedImages({ path, text }, files),
    definition: parsed.value,
    withImages: (ids) => Definition.parse(replaceImages(raw, ids)),
  }
}

type RawDefinition = z.output<typeof Envelope>['definition']

type NamedPlace = Pick<NamedImage, 'name' | 'place'>

/** Returns each image file that a definition names, once. */
function namedFiles({ design, variables }: RawDefinition): NamedPlace[] {
  const texts = stringsDeep({ design: { images: design.images }, variables: listOf(variables).map(imagesOfVariable) })
  const named = new Map<string, NamedPlace>()
  for (const { text: name, path: place } of texts) {
    const isFile = !Uuid.safeParse(name).success && placeholdersIn(name).length === 0 && place.at(-1) !== 'by'
    if (isFile && !named.has(name)) named.set(name, { name, place })
  }
  return [...named.values()]
}

/** Returns a definition with its image names replaced. `names` maps each image name in the file to its replacement. */
function replaceImages(raw: RawDefinition, names: ReadonlyMap<string, string>): unknown {
  const images = replaceTexts(raw.design.images ?? {}, names)
  const variables = listOf(raw.variables).map((variable) => {
    const replaced = Object.entries(imagesOfVariable(variable)).map(([key, name]) => [key, names.get(name) ?? name])
    return replaced.length === 0 ? variable : { ...(variable as object), ...Object.fromEntries(replaced) }
  })
  return { ...raw, ...(Array.isArray(raw.variables) && { variables }), design: { ...raw.design, images } }
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

const imageName = z.string().min(1).optional().catch(undefined)
const ImageVariable = z.object({ format: z.literal('image'), default: imageName, example: imageName })

/** Returns the default and the example of an image variable; empty for other variables. */
function imagesOfVariable(variable: unknown): Record<string, string> {
  const { data } = ImageVariable.safeParse(variable)
  return {
    ...(data?.default !== undefined && { default: data.default }),
    ...(data?.example !== undefined && { example: data.example }),
  }
}

/** @throws CliError with everything that prevents publishing, by line and column */
export async function requirePublishable(file: TemplateFile): Promise<void> {
  await requireNone(file, checkDefinition(file.definition))
}

/** @throws CliError with the issues of a definition, by line and column, if there are any */
export async function requireNone(file: TemplateFile, issues: Issue[]): Promise<void> {
  if (issues.length > 0) throw await fileError(file, 'cannot be published', listIssues(below('definition', issues)))
}

function replaceTexts(value: unknown, others: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return others.get(value) ?? value
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replaceTexts(item, others)]))
}

/** @throws CliError with an issue for each image that cannot be used. The `file` of an issue is the path of the image. */
async function readNamedImages(template: Pick<TemplateFile, 'path' | 'text'>, named: readonly NamedPlace[]) {
  const images: NamedImage[] = []
  const issues: (Issue & { file?: string })[] = []
  for (const { name, place } of named) {
    const at = ['definition', ...place]
    if (/^(https?|data):/i.test(name)) {
      issues.push({ path: at, message: 'Must be an image file or the ID of an uploaded image, not a URL' })
      continue
    }
    const file = resolve(dirname(template.path), name)
    try {
      images.push({ name, place, ...(await readImage(file)) })
    } catch (error) {
      const { code, message } = describeFailure(error)
      if (code === 'UNEXPECTED') throw error
      issues.push({ path: at, message, file })
    }
  }
  if (issues.length > 0) throw await fileError(template, 'names images that cannot be used', issues)
  return images
}

export const templateFileArgs = {
  file: Args.string({ description: 'Template files, or folders of them (*.json).', required: true }),
}

export interface TemplateFiles {
  files: TemplateFile[]
  /** Whether several files were requested, even if a folder holds only one. */
  isMany: boolean
}

/**
 * Reads and validates all files. With several paths or a folder, each file must have a unique key.
 * @throws CliError
 */
export async function readTemplateFiles(paths: readonly string[]): Promise<TemplateFiles> {
  const expanded = await Promise.all(paths.map(expand))
  const isMany = paths.length > 1 || expanded.some(({ isFolder }) => isFolder)
  const files = await readAll(expanded.flatMap(({ paths }) => paths).map(readTemplateFile))
  if (isMany) requireKeys(files)
  return { files, isMany }
}

async function expand(path: string): Promise<{ paths: string[]; isFolder: boolean }> {
  const isFolder = (await withName(path, () => stat(path))).isDirectory()
  if (!isFolder) return { paths: [path], isFolder }
  const paths = await listJsonFiles(path)
  if (paths.length === 0) throw new UsageError(`${path} holds no template file (*.json)`)
  return { paths, isFolder }
}

/**
 * Returns the *.json files of a folder, by name. @throws UsageError if an entry is not a regular file: reading a pipe
 * would never end
 */
export async function listJsonFiles(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()
  const paths = names.map((name) => join(folder, name))
  for (const path of paths) {
    if (!(await withName(path, () => stat(path))).isFile()) throw new UsageError(`${path} is not a file`)
  }
  return paths
}

/** @throws CliError if a file has no key, or if two files have the same key */
export function requireKeys(files: readonly TemplateFile[]): void {
  requireDistinct(files, 'key', ({ path, key }) => {
    if (key === undefined) {
      throw new CliError(`${path} has no key`, { code: 'VALIDATION_ERROR', hint: 'add "key": "…" next to its name.' })
    }
    return key
  })
}

/** @throws CliError if two files have the same value of a property */
export function requireDistinct<T extends { path: string }>(
  files: readonly T[],
  property: string,
  nameOf: (file: T) => string,
): void {
  const paths = new Map<string, string>()
  for (const file of files) {
    const value = nameOf(file)
    const other = paths.get(value)
    if (other) {
      throw new CliError(`${file.path} and ${other} have the same ${property} ${value}`, {
        code: 'VALIDATION_ERROR',
        hint: 'change or delete one of them.',
      })
    }
    paths.set(value, file.path)
  }
}

/** Returns the template for preview and checks without a server. Its images get local ids. */
export function draftOf(file: Pick<TemplateFile, 'project' | 'passType' | 'images' | 'withImages'>) {
  const images = file.images.map(({ name, place, bytes, contentType }) => {
    return { name, place, id: contentId(bytes), bytes, contentType, facts: inspectImage(bytes) }
  })
  const faults: Issue[] = images.flatMap(({ place, facts }) =>
    'fault' in facts ? [{ path: place, message: `The image ${facts.fault}` }] : [],
  )
  return {
    project: file.project,
    passType: file.passType,
    definition: inLanguage(file.withImages(new Map(images.map(({ name, id }) => [name, id])))),
    images: new Map(
      images.flatMap(({ id, bytes, contentType, facts }) =>
        'fault' in facts ? [] : [[id, { bytes, contentType, width: facts.width, height: facts.height }] as const],
      ),
    ),
    faults,
  }
}

export interface ImageFile {
  path: string
  contentType: ImageType
  bytes: Uint8Array
}

/** @throws CliError */
export async function readImage(path: string): Promise<ImageFile> {
  const bytes = await readNamed(path)
  const contentType = imageTypeOf(bytes)
  const details = { file: path }
  if (!contentType) throw new CliError(`${path} is neither PNG nor JPEG`, { details })
  if (bytes.length > MAX_IMAGE_BYTES) {
    throw new CliError(`${path} has ${bytes.length} bytes; at most ${MAX_IMAGE_BYTES} are allowed`, { details })
  }
  return { path, contentType, bytes }
}
