import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { Definition, type ImageRole, imageRoles, PassType } from '../../core/contract/definition.ts'
import { TemplateKey, templates } from '../../core/contract/templates.ts'
import { below, type Issue, issueDetails, listIssues } from '../../core/errors.ts'
import { Uuid } from '../../core/ids.ts'
import { parseAs } from '../../core/issues.ts'
import { findLossyNumbers } from '../../core/rules/lists/json-numbers.ts'
import { checkDefinition } from '../../core/rules/template/definition.ts'
import { readNamed } from '../arguments/named-file.ts'
import { CliError } from '../command/errors.ts'
import { type ImageFile, readImage } from './image-file.ts'
import { locateIssues, placeOf } from './positions.ts'

/** A template as a file: what design.images names are paths relative to it, or ids of images uploaded earlier. */
export interface TemplateFile {
  path: string
  text: string
  /** Which template of the workspace it is. */
  key: string | undefined
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

export const NIL_ID = '00000000-0000-0000-0000-000000000000'

const Envelope = z.strictObject({
  $schema: z.string().optional(),
  key: TemplateKey.optional(),
  name: templates.create.body.shape.name,
  description: templates.create.body.shape.description.optional(),
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
  const text = (await readNamed(path)).toString()
  const { key, name, description, passType, definition: raw } = await parseEnvelope(path, text)
  const named = Object.entries(raw.design.images ?? {}) as [ImageRole, string][]
  const files = named.filter(([, value]) => !Uuid.safeParse(value).success)
  const known = { ...raw, design: { ...raw.design, images: { ...raw.design.images, ...nilIds(files) } } }
  const parsed = parseAs(Definition, known)
  if ('issues' in parsed) {
    throw await refusal({ path, text }, 'does not fit the schema of a definition', [
      ...below('definition', parsed.issues),
    ])
  }
  const { design, ...rest } = parsed.value
  return {
    path,
    text,
    key,
    name,
    description,
    passType,
    images: await Promise.all(files.map(([role, value]) => readRole(role, resolve(dirname(path), value)))),
    definition: parsed.value,
    withImages: (ids) => ({ ...rest, design: { ...design, images: { ...design.images, ...Object.fromEntries(ids) } } }),
  }
}

/** @throws CliError with everything that would keep the file from being published, each with its line and column */
export async function requirePublishable(file: TemplateFile): Promise<void> {
  const issues = checkDefinition(file.definition)
  if (issues.length > 0) throw await refusal(file, 'cannot be published', listIssues(below('definition', issues)))
}

async function refusal(
  { path, text }: { path: string; text: string },
  what: string,
  issues: Issue[],
): Promise<CliError> {
  const { issues: shown, ...omitted } = issueDetails(issues)
  return new CliError(`${path} ${what}`, {
    code: 'VALIDATION_ERROR',
    details: { file: path, issues: await locateIssues(text, shown), ...omitted },
  })
}

function nilIds(files: readonly [ImageRole, string][]) {
  return Object.fromEntries(files.map(([role]) => [role, NIL_ID]))
}

async function parseEnvelope(path: string, text: string) {
  const json = parseText(path, text)
  const lossy = listIssues(findLossyNumbers(text))
  if (lossy.length > 0) throw await refusal({ path, text }, 'holds numbers that would be changed', lossy)
  const envelope = parseAs(Envelope, json)
  if ('issues' in envelope) throw await refusal({ path, text }, 'is not a template file', envelope.issues)
  return envelope.value
}

function parseText(path: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const { message } = error as Error
    // Without a position the text ends too early.
    const [, offset = text.length] = /at position (\d+)/.exec(message) ?? []
    const place = placeOf(text, Number(offset))
    const where = `${path}:${place.line}:${place.column}`
    throw new CliError(`${where} is not valid JSON: ${message}`, {
      code: 'INVALID_FORMAT',
      details: { file: path, ...place },
      cause: error,
    })
  }
}

async function readRole(role: ImageRole, path: string): Promise<NamedImage> {
  return { role, ...(await readImage(path, role)) }
}
