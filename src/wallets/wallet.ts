import type { Definition, PassType } from '../core/contract/schemas/definition.ts'
import type { Platform } from '../core/contract/schemas/platform.ts'
import type { Issue } from '../core/errors.ts'
import { SetupError } from '../core/errors.ts'
import type { Card } from '../core/rules/display/card.ts'
import type { CheckValues } from '../core/rules/pass/pass-rules.ts'

/** The properties of a pass from which a platform's package or object is built. */
export interface WalletPass {
  /** The ID of the current holder's copy of the pass. IDs of new objects contain it. */
  id: string
  /** The serial number at Apple if another provider issued the pass. If omitted, the serial number is the ID. */
  serialNumber?: string
  templateId: string
  templateVersion: number
  /**
   * The suffix of the ID of the existing object. If omitted, the suffix of a new object consists of the ID of the pass
   * and the kind.
   */
  objectSuffix?: string
  /** The object IDs of those `google.linkedPasses` that exist at Google. */
  linkedObjectIds?: string[]
  /** Apple's authenticationToken: random, and constant while the pass has the same holder. */
  authenticationToken: string
  card: Card
  /** The web service of another server, if Apple devices must use it instead of the one of this server. */
  webServiceUrl?: string
  /** The ID of the group of the pass. Wallets show the passes of a group in one stack. */
  groupId?: string
  translations?: Card[]
  /** The images in the other languages. Set instead of `translations`. */
  translatedImages?: Pick<Card, 'language' | 'images' | 'ownImages'>[]
  /**
   * The text of the last notification, or its texts by language. Apple Wallet can only show a notification as a field
   * of the pass.
   */
  message?: string | Record<string, string> | undefined
  /** The digest of the pass's classKey, if its version has one. Passes with the same digest share a class. */
  classDigest?: string
  /**
   * The card without values of the holder. Resources that several holders share, such as a class, are built from it.
   */
  templateCard: Card
  templateTranslations?: Card[]
}

/** The maximum size of an image in points. `scale` is the number of pixels per point in each direction. */
export interface ImageSize {
  width: number
  height: number
  scale: 1 | 2 | 3
  isEnlarged?: boolean
}

export interface ImageFile extends ImageSize {
  bytes: Uint8Array
}

/**
 * Loads an image in several sizes. Omits scales 2 and 3 if the image has too few pixels.
 * @throws ImageFault if the image is damaged, or another error if it does not exist
 */
export type LoadImageFiles = (id: string, sizes: readonly ImageSize[]) => Promise<ImageFile[]>

export interface ProviderCall {
  /** The name of the provider, as in `platformFacts`. */
  provider: string
  /** The name of the identity. If omitted, it is the identity of the server. */
  identity?: string
  /** The outcomes of the call. A call to APNs has several outcomes, because it sends many pushes. */
  outcomes: string[]
  seconds: number
}

/**
 * An error in a credential that prevents the start of the server. The message contains the file or setting, the reason,
 * and the fix.
 */
export class CredentialError extends SetupError {
  override readonly name = 'CredentialError'
}

export interface VersionContent {
  definition: Definition
  passType: PassType
}

export interface Wallet {
  readonly platform: Platform
  /** The account that passes belong to at the platform: the pass type identifier, or the ID of the issuer. */
  readonly account: string
  /** @throws ApiError PASS_ISSUING_FAILED, or the `signingError` of the platform */
  check(pass: WalletPass, at: Date): Promise<void>
  /** Returns the issues of a version that `check` cannot find in a pass, with paths in the definition. */
  checkVersion?(version: VersionContent): Issue[]
  /** Compiles the platform's checks of values for a version's passes. Returns `undefined` if there are none. */
  compileValues?(version: VersionContent): CheckValues | undefined
}
