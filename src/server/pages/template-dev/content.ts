import type { Definition, PassType } from '../../../core/contract/schemas/definition.ts'
import type { Warning } from '../../../core/contract/schemas/warnings.ts'
import type { Issue } from '../../../core/errors.ts'
import type { PixelSize } from '../../../core/rules/lint/lint-facts.ts'
import type { Mosaic } from '../../../core/rules/lint/mosaic.ts'
import { sampleScope } from '../../../core/rules/template/definition.ts'
import { writtenOf } from '../../../core/rules/template/definition-languages.ts'
import { ImageFault } from '../../../core/rules/template/image.ts'
import { namedImages } from '../../../core/rules/template/image-choice.ts'
import type { Scope } from '../../../core/rules/template/placeholder.ts'
import { checkPassJson, checkVersion } from '../../../wallets/apple/apple-wallet.ts'
import { imageSizes } from '../../../wallets/apple/image-files.ts'
import { buildPassJson } from '../../../wallets/apple/pass-json.ts'
import { buildClass } from '../../../wallets/google/classes.ts'
import { createGoogleCheck } from '../../../wallets/google/google-wallet.ts'
import { buildObject } from '../../../wallets/google/objects.ts'
import type { ImageSize } from '../../../wallets/wallet.ts'
import { createDecoder } from '../../images/images.ts'
import type { PreviewWallets } from '../card/card-preview.ts'
import { type Checker, findPlatformIssues } from '../card/platform-issues.ts'
import { definitionWarnings, sizesByRole, stripsOf, withMosaics } from '../card/template-warnings.ts'

export interface DevContent {
  file: string
  name: string
  /** The name of the project that the file sets. Without one, the template has no project when it is created. */
  project?: string | null | undefined
  passType: PassType
  /** The definition, which names images by their IDs in `images`. */
  definition: Definition
  images: ReadonlyMap<string, DevImage>
  holders: DevHolder[]
  /** The errors that prevent publishing. */
  problems: PlacedNote[]
}

/** An image that a template file names. It is not stored. */
export interface DevImage extends PixelSize {
  contentType: string
  bytes: Uint8Array
}

export interface DevHolder {
  externalPassId: string
  label: string
  /** The values of variables. A missing variable has its default. */
  variables: Record<string, string>
}

/** An error or warning, with its line and column in the file (from 1) if they are known. */
export interface PlacedNote extends Pick<Warning, 'path' | 'message'> {
  code?: string
  line?: number
  column?: number
}

/** Placeholder identities, which are enough because nothing is signed or sent. */
const identity = { passTypeIdentifier: 'pass.example.preview', teamIdentifier: 'PREVIEW000' }
const issuer = { issuerId: '3388000000000000000', publicUrl: 'https://passes.example' }

export const previewWallets = {
  apple: { passJson: (pass) => buildPassJson(pass, identity, `${issuer.publicUrl}/apple`) },
  google: {
    classOf: (pass) => buildClass(issuer, pass),
    objectOf: (pass, at) => buildObject(issuer, pass, at),
  },
} satisfies PreviewWallets

const checkers: Checker[] = [
  {
    platform: 'apple',
    check: async (pass) => checkPassJson(previewWallets.apple.passJson(pass), pass.card.apple),
    checkVersion,
  },
  { platform: 'google', check: createGoogleCheck(issuer) },
]

/** Returns the issues that the platforms find when a valid definition is published, with paths in the definition. */
export function platformIssuesOf(
  { definition, passType, project }: Pick<DevContent, 'definition' | 'passType' | 'project'>,
  now: Date,
) {
  return findPlatformIssues(definition, passType, { wallets: { all: checkers }, now, hasProject: project != null })
}

/** The image size from which the mosaic (color samples) of a strip is computed, as in an upload to the server. */
const STRIP: ImageSize[] = [{ ...imageSizes.strip.fit, scale: 3 }]
const NO_FILES: ImageSize[] = []

interface DecodedImage {
  /** The sizes that were requested. */
  sizes: ImageSize[]
  /** The size of the upright image, unlike that of a `DevImage`, and its mosaic; `undefined` if it has a fault. */
  image?: PixelSize & { mosaic: Mosaic }
  fault?: string
}

type Content = Pick<DevContent, 'definition' | 'passType' | 'images'>

/** Creates an object that checks a template as publishing does, without a server. Its decoder runs until `close`. */
export function createWarnings() {
  const decoder = createDecoder({ log: { warn: () => undefined } })
  let decoded = new Map<string, DecodedImage>()

  async function decodeAll({ images, definition }: Content) {
    const strips = new Set(stripsOf(definition))
    const found = new Map<string, DecodedImage>()
    for (const [id, { bytes }] of images) {
      // Only strips need the file from which an upload computes the mosaic. Creating it takes most of the time.
      const sizes = strips.has(id) ? STRIP : NO_FILES
      const known = decoded.get(id)
      found.set(id, known?.sizes === sizes ? known : await decode(bytes, sizes))
    }
    decoded = found
    return found
  }

  async function decode(bytes: Uint8Array, sizes: ImageSize[]): Promise<DecodedImage> {
    try {
      const { width, height, mosaic } = await decoder.decode({ bytes, sizes })
      return { sizes, image: { width, height, mosaic } }
    } catch (error) {
      if (error instanceof ImageFault) return { sizes, fault: error.message }
      throw error
    }
  }

  return {
    /** Returns an issue for each image that an upload would reject because it cannot be decoded. */
    async findImageIssues(content: Content): Promise<Issue[]> {
      const made = await decodeAll(content)
      return [...namedImages(writtenOf(content.definition))].flatMap(({ path, id }) => {
        const fault = made.get(id)?.fault
        return fault === undefined ? [] : [{ path, message: `The image ${fault}` }]
      })
    },

    async find(content: Content, at: Date): Promise<Warning[]> {
      const { definition, passType } = content
      const made = [...(await decodeAll(content))].flatMap(([id, { image }]) => (image ? [[id, image] as const] : []))
      const sizes = new Map<string, PixelSize>([...content.images, ...made])
      const images = sizesByRole(writtenOf(definition), sizes)
      const shown = new Set(stripsOf(definition))
      const mosaics = made.flatMap(([id, { mosaic }]) => (shown.has(id) ? [[id, mosaic] as const] : []))
      const strips = withMosaics(sizes, new Map(mosaics))
      return definitionWarnings({ definition, passType, images, strips, wallets: previewWallets, at })
    },
    close: decoder.close,
  }
}

export function scopeOf({ name, project, definition }: DevContent, holder: DevHolder | undefined): Scope {
  const scope = new Map(sampleScope(definition)).set('template.name', name).set('project.name', project ?? '')
  if (!holder) return scope
  scope.set('pass.externalPassId', holder.externalPassId).set('pass.label', holder.label)
  const values = new Map(Object.entries(holder.variables))
  for (const variable of definition.variables) {
    scope.set(variable.name, values.get(variable.name) ?? variable.default ?? '')
  }
  return scope
}
