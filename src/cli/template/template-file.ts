import { readdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Args } from '@oclif/core'
import { z } from 'zod'
import {
  Definition,
  type ImageRole,
  imageRoles,
  PassType,
  type WrittenDefinition,
} from '../../core/contract/definition.ts'
import { type ImageType, MAX_IMAGE_BYTES } from '../../core/contract/images.ts'
import { projects } from '../../core/contract/projects.ts'
import { TemplateKey, templates } from '../../core/contract/templates.ts'
import { below, type Issue, listIssues, parseAs } from '../../core/errors.ts'
import { contentId, Uuid } from '../../core/ids.ts'
import { checkDefinition } from '../../core/rules/template/definition.ts'
import { inspectImage } from '../../core/rules/template/image.ts'
import { inLanguage } from '../../core/rules/template/languages.ts'
import { placeholdersIn, stringsDeep } from '../../core/rules/template/placeholder.ts'
import { NIL_UUID } from '../../core/uuid.ts'
import { CliError, readNamed, UsageError, withName } from '../command/errors.ts'

import { fileError, readAll, readJsonFile } from './json-file.ts'

/** A template as a file: what design.images names are paths relative to it, or ids of images uploaded earlier. */
export interface TemplateFile {
  path: string
  text: string
  /** Which template of the workspace it is. */
  key: string | undefined
  name: string
  description: string | undefined
  /** The name of the project that it belongs to; null for none, undefined where the file does not say. */
  project: string | null | undefined
  passType: PassType
  images: NamedImage[]
  /** The definition as far as it can be known before the upload: image paths stand as the nil id. */
  definition: WrittenDefinition
  /** The definition with each image replaced by the id that its upload gave, by what the file names it. */
  withImages: (ids: ReadonlyMap<string, string>) => WrittenDefinition
}

interface NamedImage extends ImageFile {
  role: ImageRole
  /** As the file names it. */
  name: string
  /** Where it does first, below design.images. */
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
 * Reads a template file and the images that it names, and checks it as the server would, before anything is sent.
 * @throws CliError with every problem in details.issues, each with its line and column.
 */
export async function readTemplateFile(path: string): Promise<TemplateFile> {
  const { text, value } = await readJsonFile(path, Envelope, 'a template file')
  const { key, name, description, project, passType, definition: raw } = value
  const named = new Map<string, NamedPlace>()
  for (const { text: name, path: place } of stringsDeep(raw.design.images)) {
    const isFile = !Uuid.safeParse(name).success && placeholdersIn(name).length === 0 && place.at(-1) !== 'by'
    if (isFile && !named.has(name)) named.set(name, { name, place })
  }
  const files = [...named.values()]
  const nilIds = new Map(files.map(({ name }) => [name, NIL_UUID]))
  const known = { ...raw, design: { ...raw.design, images: replaceTexts(raw.design.images ?? {}, nilIds) } }
  const parsed = parseAs(Definition, known)
  if ('issues' in parsed) {
    const issues = [...below('definition', parsed.issues)]
    throw await fileError({ path, text }, 'does not fit the schema of a definition', issues)
  }
  const { design, ...rest } = parsed.value
  return {
    path,
    text,
    key,
    name,
    description,
    project,
    passType,
    images: await Promise.all(files.map((file) => readNamedImage(file, resolve(dirname(path), file.name)))),
    definition: parsed.value,
    withImages: (ids) => ({
      ...rest,
      design: { ...design, images: replaceTexts(raw.design.images ?? {}, ids) as Images },
    }),
  }
}

/**
 * That a template could be published as its file stands.
 * @throws CliError with everything that would keep it from that, each with its line and column
 */
export async function requirePublishable(file: TemplateFile): Promise<void> {
  const issues = checkDefinition(file.definition)
  if (issues.length > 0) throw await fileError(file, 'cannot be published', listIssues(below('definition', issues)))
}

type Images = Definition['design']['images']

type NamedPlace = Pick<NamedImage, 'name' | 'place'>

/** The value with each text replaced that there is another for. */
function replaceTexts(value: unknown, others: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return others.get(value) ?? value
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replaceTexts(item, others)]))
}

async function readNamedImage({ name, place }: NamedPlace, path: string): Promise<NamedImage> {
  const role = place[0] as ImageRole
  return { role, name, place, ...(await readImage(path, role)) }
}

/** The argument that names template files; `strict = false` lets there be several. */
export const templateFileArgs = {
  file: Args.string({ description: 'Template files, or folders of them (*.json).', required: true }),
}

/** The template files that arguments name, in the order given and of a folder by name. */
export interface TemplateFiles {
  files: TemplateFile[]
  /** More than one file is meant, however many there are. */
  isMany: boolean
}

/**
 * Reads and checks every file before anything is done with the first. Of several, each must say by its key which template
 * it is.
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

/** The files *.json of a folder, by name. @throws UsageError where one is no file: a pipe would be read for ever */
export async function listJsonFiles(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()
  const paths = names.map((name) => join(folder, name))
  for (const path of paths) {
    if (!(await withName(path, () => stat(path))).isFile()) throw new UsageError(`${path} is not a file`)
  }
  return paths
}

/** That each file has a key of its own. @throws UsageError */
export function requireKeys(files: readonly TemplateFile[]): void {
  const byKey = new Map<string, string>()
  for (const { path, key } of files) {
    if (key === undefined) throw new UsageError(`${path} has no key`, { hint: 'write "key": "…" beside its name.' })
    const other = byKey.get(key)
    if (other) throw new UsageError(`${path} and ${other} have the same key ${key}`)
    byKey.set(key, path)
  }
}

/** A template file as it can be drawn and looked over without a server: its images have ids of their own. */
export function draftOf(file: Pick<TemplateFile, 'passType' | 'images' | 'withImages'>) {
  const images = file.images.map(({ name, place, bytes, contentType }) => {
    return { name, place, id: contentId(bytes), bytes, contentType, facts: inspectImage(bytes) }
  })
  const faults: Issue[] = images.flatMap(({ place, facts }) =>
    'fault' in facts
      ? [{ path: ['definition', 'design', 'images', ...place], message: `The image ${facts.fault}` }]
      : [],
  )
  return {
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

/** An image as it is uploaded. */
export interface ImageFile {
  path: string
  contentType: z.output<typeof ImageType>
  bytes: Uint8Array
}

/**
 * Reads an image, and refuses what the server would.
 * @param role what it is for, as errors name it
 * @throws CliError
 */
export async function readImage(path: string, role?: string): Promise<ImageFile> {
  const bytes = await readNamed(path)
  const what = role === undefined ? path : `${path} (${role})`
  const contentType = imageType(bytes)
  if (!contentType) throw new CliError(`${what} is neither PNG nor JPEG`)
  if (bytes.length > MAX_IMAGE_BYTES) {
    throw new CliError(`${what} has ${bytes.length} bytes; at most ${MAX_IMAGE_BYTES} are taken`)
  }
  return { path, contentType, bytes }
}

/** By the first bytes: what a file is called proves nothing. */
function imageType(bytes: Buffer): ImageFile['contentType'] | undefined {
  if (bytes.subarray(0, 8).equals(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))) return 'image/png'
  return bytes.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff])) ? 'image/jpeg' : undefined
}
