import type { Definition, PassType } from '../../../core/contract/schemas/definition.ts'
import type { Warning } from '../../../core/contract/schemas/warnings.ts'
import type { PixelSize } from '../../../core/rules/lint/lint-facts.ts'
import type { Mosaic } from '../../../core/rules/lint/mosaic.ts'
import { sampleScope } from '../../../core/rules/template/definition.ts'
import { ImageFault } from '../../../core/rules/template/image.ts'
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

/** The size of the upright image, unlike the size of a `DevImage`, and its mosaic. */
interface DecodedImage extends PixelSize {
  mosaic: Mosaic
}

/** Creates an object that finds the warnings of publishing without a server. Its decoder process runs until `close`. */
export function createWarnings() {
  const decoder = createDecoder({ log: { warn: () => undefined } })
  let decoded = new Map<string, DecodedImage>()

  /** Decodes images. Images that cannot be decoded are omitted. */
  async function decodeAll(images: DevContent['images']) {
    const found = new Map<string, DecodedImage>()
    for (const [id, { bytes }] of images) {
      const image = decoded.get(id) ?? (await decode(bytes))
      if (image) found.set(id, image)
    }
    decoded = found
    return found
  }

  async function decode(bytes: Uint8Array): Promise<DecodedImage | undefined> {
    try {
      const { width, height, mosaic } = await decoder.decode({ bytes, sizes: STRIP })
      return { width, height, mosaic }
    } catch (error) {
      if (error instanceof ImageFault) return undefined
      throw error
    }
  }

  return {
    async find(content: Pick<DevContent, 'definition' | 'passType' | 'images'>, at: Date): Promise<Warning[]> {
      const { definition, passType } = content
      const made = await decodeAll(content.images)
      const sizes = new Map<string, PixelSize>([...content.images, ...made])
      const images = sizesByRole(definition, sizes)
      const shown = stripsOf(definition).filter((id) => made.has(id))
      const strips = withMosaics(sizes, new Map(shown.map((id) => [id, made.get(id)!.mosaic])))
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
