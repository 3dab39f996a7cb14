import type { Definition, ImageRole, PassType, WrittenDefinition } from '../../../core/contract/schemas/definition.ts'
import type { Warning } from '../../../core/contract/schemas/warnings.ts'
import { ApiError } from '../../../core/errors.ts'
import { barcodeMessage } from '../../../core/rules/display/card.ts'
import { type LintFacts, lintDefinition } from '../../../core/rules/lint/lint.ts'
import type { PixelSize } from '../../../core/rules/lint/lint-facts.ts'
import type { Mosaic } from '../../../core/rules/lint/mosaic.ts'
import { longScope } from '../../../core/rules/template/definition.ts'
import { inLanguage } from '../../../core/rules/template/definition-languages.ts'
import { namedImages, sampleImages } from '../../../core/rules/template/image-choice.ts'
import type { StoredVersion } from '../../../storage/templates/template-versions-repository.ts'
import { imageSizes } from '../../../wallets/apple/image-files.ts'
import { needsLogo } from '../../../wallets/google/check-fields.ts'
import { hiddenFields } from '../../../wallets/google/fields.ts'
import { kindOf } from '../../../wallets/google/resource.ts'
import type { RequestContext } from '../../context.ts'
import { MOSAIC_FILE } from '../../images/images.ts'
import { type PreviewWallets, samplePass, viewsOf } from './card-preview.ts'

/**
 * Returns the warnings about a version. Returns none if the version cannot be rendered, because publishing reports this
 * error.
 */
export async function findTemplateWarnings(
  { templateId, definition }: Pick<StoredVersion, 'templateId' | 'definition'>,
  { store, workspaceId, services, now }: RequestContext,
): Promise<Warning[]> {
  const template = await store.templates.find(workspaceId, templateId)
  if (!template) return []
  const images = await imagesOf(definition, { store, workspaceId })
  return definitionWarnings({ definition, passType: template.passType, ...images, wallets: services.wallets, at: now })
}

export interface WarningFacts {
  /** The definition in all languages, or in one. Warnings are about the default language. */
  definition: Definition | WrittenDefinition
  passType: PassType
  images: LintFacts['images']
  strips: LintFacts['strips']
  wallets: PreviewWallets
  at: Date
}

export function definitionWarnings({
  definition: written,
  passType,
  images,
  strips,
  wallets,
  at,
}: WarningFacts): Warning[] {
  const definition = inLanguage(written)
  const scope = longScope(definition)
  const pass = renderOrNone(() => samplePass(definition, passType, scope))
  if (!pass) return []
  const { card } = pass
  const { apple, google } = viewsOf(pass, wallets, at)
  return lintDefinition({
    definition,
    passType,
    apple,
    scanned: barcodeMessage(definition, scope),
    google: google && {
      kind: kindOf(card),
      needsLogo: needsLogo(kindOf(card)),
      card,
      view: google,
      hidden: hiddenFields(card),
    },
    images,
    strips,
    wantedPixels: WANTED_PIXELS,
    imageTypes: IMAGE_TYPES,
  })
}

const IMAGE_TYPES = Object.fromEntries(
  Object.entries(imageSizes).map(([role, { shown }]) => [role, Object.keys(shown) as PassType[]]),
)

/** The pixel sizes that the sharpest phones show, and the hero size that Google requires. */
const WANTED_PIXELS: Partial<Record<ImageRole, PixelSize>> = {
  ...Object.fromEntries(
    Object.entries(imageSizes).map(([role, { fit }]) => [role, { width: 3 * fit.width, height: 3 * fit.height }]),
  ),
  hero: { width: 1032, height: 336 },
}

function renderOrNone<T>(render: () => T): T | undefined {
  try {
    return render()
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

async function imagesOf(
  definition: Definition | WrittenDefinition,
  { store, workspaceId }: Pick<RequestContext, 'store' | 'workspaceId'>,
): Promise<Pick<WarningFacts, 'images' | 'strips'>> {
  const ids = [...new Set([...namedImages(definition)].map(({ id }) => id))]
  if (ids.length === 0) return { images: {}, strips: new Map() }
  const known = new Map((await store.images.list(workspaceId, ids)).map((image) => [image.id, image]))
  const strips = stripsOf(definition)
  const mosaics =
    strips.length > 0 ? await store.images.listFileOfEach(workspaceId, strips, MOSAIC_FILE) : new Map<string, Mosaic>()
  return { images: sizesByRole(definition, known), strips: withMosaics(known, mosaics) }
}

/** The maximum number of strips whose mosaics (color samples) are read. Warnings about further strips are omitted. */
const MAX_STRIPS = 100

/** Returns the IDs of the strips in the default language, because warnings are only about this language. */
export function stripsOf(definition: Definition | WrittenDefinition): string[] {
  return [...new Set(sampleImages(inLanguage(definition), 'strip'))].slice(0, MAX_STRIPS)
}

/** Combines each mosaic with the size of its image. */
export function withMosaics(
  known: ReadonlyMap<string, PixelSize>,
  mosaics: ReadonlyMap<string, Mosaic>,
): WarningFacts['strips'] {
  return new Map(
    [...mosaics].flatMap(([id, mosaic]) => {
      const size = known.get(id)
      return size ? [[id, { width: size.width, height: size.height, mosaic }] as const] : []
    }),
  )
}

/** Returns the size of the smallest image of each role. */
export function sizesByRole(
  definition: Definition | WrittenDefinition,
  known: ReadonlyMap<string, PixelSize>,
): Partial<Record<ImageRole, PixelSize>> {
  const sizes: Partial<Record<ImageRole, PixelSize>> = {}
  for (const { role, id } of namedImages(definition)) {
    const image = known.get(id)
    if (!image || !role) continue
    const smallest = sizes[role]
    if (!smallest || image.width * image.height < smallest.width * smallest.height) {
      sizes[role] = { width: image.width, height: image.height }
    }
  }
  return sizes
}
