import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { Definition, type ImageRole, imageRoles, PassType } from '../../core/contract/definition.ts'
import { templates } from '../../core/contract/templates.ts'
import { listIssues } from '../../core/errors.ts'
import { Uuid } from '../../core/ids.ts'
import { parseAs } from '../../core/issues.ts'
import { findLossyNumbers } from '../../core/rules/lists/json-numbers.ts'
import { readNamed } from '../arguments/named-file.ts'
import { CliError, invalidDocument } from '../command/errors.ts'
import { type ImageFile, readImage } from './image-file.ts'

/** A template as a file: what design.images names are paths relative to it, or ids of images uploaded earlier. */
export interface TemplateFile {
  name: string
  description: string | undefined
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

const NIL_ID = '00000000-0000-0000-0000-000000000000'

const Envelope = z.strictObject({
  $schema: z.string().optional(),
  name: templates.create.body.shape.name,
  description: templates.create.body.shape.description.optional(),
  passType: PassType,
  definition: z.looseObject({
    design: z.looseObject({ images: z.partialRecord(z.enum(imageRoles), z.string()).optional() }),
  }),
})

/**
 * Reads a template file and the images that it names, and checks it as the server would, before anything is sent.
 * @throws CliError with every problem in details.issues.
 */
export async function readTemplateFile(path: string): Promise<TemplateFile> {
  const envelope = parseEnvelope(path, (await readNamed(path)).toString())
  const named = Object.entries(envelope.definition.design.images ?? {}) as [ImageRole, string][]
  const files = named.filter(([, value]) => !Uuid.safeParse(value).success)
  const withImages = (ids: ReadonlyMap<ImageRole, string>) =>
    parseDefinition(path, {
      ...envelope.definition,
      design: {
        ...envelope.definition.design,
        images: { ...envelope.definition.design.images, ...Object.fromEntries(ids) },
      },
    })
  const definition = withImages(new Map(files.map(([role]) => [role, NIL_ID])))
  const images = await Promise.all(files.map(([role, value]) => readRole(role, resolve(dirname(path), value))))
  const { name, description, passType } = envelope
  return { name, description, passType, images, definition, withImages }
}

function parseEnvelope(path: string, text: string) {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw new CliError(`${path} is not valid JSON: ${(error as Error).message}`, {
      code: 'INVALID_FORMAT',
      cause: error,
    })
  }
  const lossy = listIssues(findLossyNumbers(text))
  if (lossy.length > 0) throw invalidDocument(`${path} holds numbers that would be changed`, lossy)
  const envelope = parseAs(Envelope, json)
  if ('issues' in envelope) throw invalidDocument(`${path} is not a template file`, envelope.issues)
  return envelope.value
}

function parseDefinition(path: string, value: unknown): Definition {
  const definition = parseAs(Definition, value)
  if ('value' in definition) return definition.value
  const issues = definition.issues.map((issue) => ({ ...issue, path: ['definition', ...issue.path] }))
  throw invalidDocument(`${path} does not fit the schema of a definition`, issues)
}

async function readRole(role: ImageRole, path: string): Promise<NamedImage> {
  return { role, ...(await readImage(path, role)) }
}
