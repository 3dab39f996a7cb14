import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { Definition, type ImageRole, imageRoles, PassType } from '../../core/contract/definition.ts'
import { projects } from '../../core/contract/projects.ts'
import { TemplateKey, templates } from '../../core/contract/templates.ts'
import { below, listIssues, parseAs } from '../../core/errors.ts'
import { Uuid } from '../../core/ids.ts'
import { checkDefinition } from '../../core/rules/template/definition.ts'
import { type ImageFile, readImage } from './image-file.ts'
import { fileError, readJsonFile } from './json-file.ts'

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
  definition: Definition
  /** The definition with each image path replaced by the id that its upload gave. */
  withImages: (ids: ReadonlyMap<ImageRole, string>) => Definition
}

interface NamedImage extends ImageFile {
  role: ImageRole
}

export const NIL_ID = '00000000-0000-0000-0000-000000000000'

const Envelope = z.strictObject({
  $schema: z.string().optional(),
  key: TemplateKey.optional(),
  name: templates.create.body.shape.name,
  description: templates.create.body.shape.description.optional(),
  project: projects.create.body.shape.name.nullable().optional(),
  passType: PassType,
  definition: z.looseObject({
    design: z.looseObject({ images: z.partialRecord(z.enum(imageRoles), z.string()).optional() }),
  }),
})

/**
 * Reads a template file and the images that it names, and checks it as the server would, before anything is sent.
 * @throws CliError with every problem in details.issues, each with its line and column.
 */
export async function readTemplateFile(path: string): Promise<TemplateFile> {
  const { text, value } = await readJsonFile(path, Envelope, 'a template file')
  const { key, name, description, project, passType, definition: raw } = value
  const named = Object.entries(raw.design.images ?? {}) as [ImageRole, string][]
  const files = named.filter(([, value]) => !Uuid.safeParse(value).success)
  const known = { ...raw, design: { ...raw.design, images: { ...raw.design.images, ...nilIds(files) } } }
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
    images: await Promise.all(files.map(([role, value]) => readRole(role, resolve(dirname(path), value)))),
    definition: parsed.value,
    withImages: (ids) => ({ ...rest, design: { ...design, images: { ...design.images, ...Object.fromEntries(ids) } } }),
  }
}

/** @throws CliError with everything that would keep the file from being published, each with its line and column */
export async function requirePublishable(file: TemplateFile): Promise<void> {
  const issues = checkDefinition(file.definition)
  if (issues.length > 0) throw await fileError(file, 'cannot be published', listIssues(below('definition', issues)))
}

function nilIds(files: readonly [ImageRole, string][]) {
  return Object.fromEntries(files.map(([role]) => [role, NIL_ID]))
}

async function readRole(role: ImageRole, path: string): Promise<NamedImage> {
  return { role, ...(await readImage(path, role)) }
}
