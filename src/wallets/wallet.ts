import type { Definition, PassType } from '../core/contract/schemas/definition.ts'
import type { Platform } from '../core/contract/schemas/platform.ts'
import type { Issue } from '../core/errors.ts'
import { SetupError } from '../core/errors.ts'
import type { Card } from '../core/rules/display/card.ts'
import type { CheckValues } from '../core/rules/pass/pass-rules.ts'

/** The properties of a pass from which a platform builds what a phone shows. */
export interface WalletPass {
  /** The ID of the current holder's copy, from which new objects are named. */
  id: string
  /** The serial number at Apple, if another provider issued it. Otherwise, it is the ID. */
  serialNumber?: string
  templateId: string
  templateVersion: number
  /** The suffix of the object's ID if the platform has one. A new object is named after the pass and its kind. */
  objectSuffix?: string
  /** Apple's authenticationToken: random for each holder of a pass, and never changed. */
  authenticationToken: string
  card: Card
  /** The web service that Apple devices must use from now on, if it is not this server. */
  webServiceUrl?: string
  /** Shared by the passes of a group. Wallets show them in one stack. */
  groupId?: string
  translations?: Card[]
  /** The images in these languages, if translations are omitted. */
  translatedImages?: Pick<Card, 'language' | 'images' | 'ownImages'>[]
  /** The text of the last notification, by language if it was sent so. Apple can only show it on the pass itself. */
  message?: string | Record<string, string> | undefined
  /** The digest of the pass's classKey, if its version has one. Passes with the same digest share a class. */
  classDigest?: string
  /** The card without values of its holder, for what all holders see, such as classes. */
  templateCard: Card
  templateTranslations?: Card[]
}

/** The maximum size of an image: points, and the number of pixels per point in each direction. */
export interface ImageSize {
  width: number
  height: number
  scale: 1 | 2 | 3
  isEnlarged?: boolean
}

export interface ImageFile extends ImageSize {
  bytes: Uint8Array
}

/** Omits sizes that the image cannot fill, except scale 1. @throws ImageFault, or another error if it is missing */
export type LoadImageFiles = (id: string, sizes: readonly ImageSize[]) => Promise<ImageFile[]>

export interface ProviderCall {
  /** The name from the facts of its platform. */
  provider: string
  /** The name of the identity; that of the server if omitted. */
  identity?: string
  /** The outcomes. An exchange with APNs contains many pushes. */
  outcomes: string[]
  seconds: number
}

/** Prevents the start of the server. The message has the file or setting, the reason, and the fix. */
export class CredentialError extends SetupError {
  override readonly name = 'CredentialError'
}

interface VersionContent {
  definition: Definition
  passType: PassType
}

export interface Wallet {
  readonly platform: Platform
  /** The account at the platform that passes belong to: the pass type identifier, or the ID of the issuer. */
  readonly account: string
  /** @throws ApiError PASS_ISSUING_FAILED, or the `signingError` of the platform */
  check(pass: WalletPass, at: Date): Promise<void>
  /**
   * Returns what the platform would reject in a version that is to be published, with paths below its definition. The
   * sample is a pass of it. Without this method, `check` of the sample is used.
   * @throws ApiError like check
   */
  checkVersion?(version: VersionContent, sample: WalletPass, at: Date): Promise<Issue[]>
  /** Compiles the platform's checks of the values of a version's passes. Returns `undefined` if there are none. */
  compileValues?(version: VersionContent): CheckValues | undefined
}
