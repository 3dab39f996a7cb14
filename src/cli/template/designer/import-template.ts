import { dirname, join } from 'node:path'
import {
  Definition,
  type DefinitionInput,
  type ImageRole,
  type PassType,
} from '../../../core/contract/schemas/definition.ts'
import { type Issue, parseAs } from '../../../core/errors.ts'
import { valueAt } from '../../../core/json.ts'
import { inLanguage } from '../../../core/rules/template/definition-languages.ts'
import { NIL_UUID } from '../../../core/uuid.ts'
import { plainPng } from '../../../files/plain-png.ts'
import { CliError } from '../../command/cli-error.ts'
import { ICON_SIDE, requireKey } from '../starters.ts'
import { type WrittenFile, writeTemplate } from '../write-files.ts'
import { readDesignerBundle } from './bundle.ts'
import { imagesOf, readDefinition } from './definition.ts'
import type { Report } from './report.ts'
import { DEFAULT_LANGUAGE } from './texts.ts'

interface ImportOptions {
  file: string
  key: string
  name: string
  replaces: boolean
  /** Returns the publishing issues that concern the platforms. */
  findPlatformIssues: (content: {
    definition: ReturnType<typeof inLanguage>
    passType: PassType
  }) => Promise<readonly Issue[]>
}

interface Imported extends Report {
  passType: PassType
  /** The paths of the written images. */
  images: string[]
  variables: number
  dropped: string[]
}

/**
 * Imports a template of Pass Designer. Writes all files or none.
 * @throws CliError if the template cannot be read, or if a file exists and is not replaced
 */
export async function importDesignerTemplate(path: string, options: ImportOptions): Promise<Imported> {
  const { file, key, name, replaces } = options
  requireKey(key)
  const bundle = await readDesignerBundle(path)
  const { passType, definition: read, report, dropped } = readDefinition(bundle, name)
  const found = imagesOf(bundle, read.languages?.others)
  if (!found.has('icon')) {
    const { background } = read.design.colors ?? {}
    const color = typeof background === 'string' ? background : '#808080'
    found.set('icon', [{ language: DEFAULT_LANGUAGE, bytes: plainPng(ICON_SIDE, ICON_SIDE, color) }])
    report.assumed.push({ path: 'icon.png', reason: 'Is missing, so an image of one color was written: replace it' })
  }
  const images: WrittenFile[] = []
  const names: Partial<Record<ImageRole, string | Record<string, string>>> = {}
  for (const [role, files] of found) {
    const written = files.map(({ language, bytes }, index) => {
      const image = `images/${key}/${role}${index === 0 ? '' : `-${language}`}.png`
      images.push({ path: join(dirname(file), image), content: bytes })
      return [language, image] as const
    })
    const [[language, image]] = written as [(typeof written)[number]]
    names[role] = written.length === 1 && language === DEFAULT_LANGUAGE ? image : Object.fromEntries(written)
  }
  const valid = await withoutInvalid({ ...read, design: { ...read.design, images: names } }, passType, options, report)
  const template = { key, name: name.slice(0, 255), passType, definition: valid }
  writeTemplate({ path: file, content: `${JSON.stringify(template, undefined, 2)}\n` }, images, { replaces })
  return {
    passType,
    images: images.map(({ path }) => path),
    variables: valid.variables?.length ?? 0,
    dropped,
    ...report,
  }
}

/** The maximum number of removed values. No real template has more invalid values. */
const MAX_REMOVED = 500

/**
 * Removes and reports the values that the schema of a definition rejects, and the keys of `apple` that publishing
 * rejects. The designer must fix the other issues.
 */
async function withoutInvalid(
  definition: DefinitionInput,
  passType: PassType,
  { findPlatformIssues }: ImportOptions,
  { unmapped, kept }: Report,
): Promise<DefinitionInput> {
  const valid = structuredClone(definition)
  for (let removed = 0; removed < MAX_REMOVED; removed += 1) {
    const withIds = { ...valid, design: { ...valid.design, images: nilIds(valid.design.images ?? {}) } }
    const parsed = parseAs(Definition, withIds)
    const issue =
      'issues' in parsed
        ? parsed.issues[0]
        : (await findPlatformIssues({ definition: inLanguage(parsed.value), passType })).find(
            ({ path: [first, key] }) => first === 'apple' && valid.apple?.[String(key)] !== undefined,
          )
    if (!issue) return valid
    const path = remove(valid, issue.path)
    const shown = (path[0] === 'apple' ? path.slice(1) : path).join('.')
    for (const note of kept.filter((one) => one.path === shown)) kept.splice(kept.indexOf(note), 1)
    const missing = issue.path.slice(path.length).join('.')
    unmapped.push({ path: shown, reason: missing === '' ? issue.message : `${missing}: ${issue.message}` })
  }
  throw new CliError(
    `The template has more than ${MAX_REMOVED} values that publishing would reject: fix it in Pass Designer`,
  )
}

function nilIds(images: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(images).map(([key, image]) => [key, typeof image === 'string' ? NIL_UUID : nilIds(image)]),
  )
}

/**
 * Removes the value at a path. If the value is missing, removes the item or key that requires the value. Returns the
 * removed path.
 */
function remove(root: object, path: Issue['path']): Issue['path'] {
  for (let length = path.length; length > 1; length -= 1) {
    const holder = valueAt(root, path.slice(0, length - 1))
    const key = path[length - 1]!
    if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, key)) continue
    if (Array.isArray(holder)) holder.splice(Number(key), 1)
    else delete (holder as Record<string | number, unknown>)[key]
    return path.slice(0, length)
  }
  throw new CliError(`The template cannot be imported: ${path.join('.')} is not valid`)
}
