import type { Definition, PassType } from '../core/contract/definition.ts'
import type { Platform } from '../core/contract/platform.ts'
import type { Issue } from '../core/errors.ts'
import { SetupError } from '../core/errors.ts'
import type { Card } from '../core/rules/display/card.ts'
import type { CheckValues } from '../core/rules/pass/pass-rules.ts'

/** What a wallet platform needs to know of one pass to build what a phone shows. */
export interface WalletPass {
  /** What its present holder's copy is called, and new objects at Google by it. */
  id: string
  /** What Apple knows the copy by, where another provider made it; else it is the id. */
  serialNumber?: string
  templateId: string
  /** The number of the version that the pass is rendered with. */
  templateVersion: number
  /** The suffix of the object's id where Google holds the pass; a new object is called by the pass and its kind. */
  googleSuffix?: string
  /** Apple's authenticationToken: random for each holder of a pass and never changed. */
  authenticationToken: string
  card: Card
  /** Where phones of Apple are to ask from now on, where it is another place than this server. */
  webServiceUrl?: string
  /** Shared by passes that belong together; wallets show them in one stack. */
  groupId?: string
  /** The card in the other languages of its definition. */
  translations?: Card[]
  /** The images in these languages, where translations are left out. */
  translatedImages?: Pick<Card, 'language' | 'images' | 'ownImages'>[]
  /**
   * What the last notification said, in the language of each card where it said so by language; Apple has no other place for
   * it than the pass itself.
   */
  message?: string | Record<string, string> | undefined
  /** Of the google.classKey of the pass, where its version has one: passes with the same share a class. */
  classDigest?: string
  /** The card without any value of its holder alone: for what a platform shows to everyone alike, as Google's classes. */
  templateCard: Card
  /** The same in the other languages. */
  templateTranslations?: Card[]
}

/** A size that a picture is shown in, at most: points, and how many pixels a point has each way. */
export interface ImageSize {
  width: number
  height: number
  scale: 1 | 2 | 3
  /** Made of any picture: a smaller one is enlarged. */
  isEnlarged?: boolean
}

/** An image as PNG, fitted into one of its sizes. */
export interface ImageFile extends ImageSize {
  bytes: Uint8Array
}

/**
 * Gives the files of an image in the sizes asked for, never enlarged but where the size says so; those that it cannot fill
 * are left out, but for scale 1.
 * @throws ImageFault, and whatever else where there is no such image
 */
export type LoadImageFiles = (id: string, sizes: readonly ImageSize[]) => Promise<ImageFile[]>

/** One exchange with a platform, for whoever keeps count. */
export interface ProviderCall {
  /** As the facts of its platform name it. */
  provider: string
  /** By name; that of the server where left out. */
  identity?: string
  /** What became of it; an exchange with APNs holds many pushes. */
  outcomes: string[]
  seconds: number
}

/** A credential that cannot work: says which file or setting, why, and what to do. Stops the start of the server. */
export class CredentialError extends SetupError {
  override readonly name = 'CredentialError'
}

/** What a version says of its passes. */
interface VersionContent {
  definition: Definition
  passType: PassType
}

/** One wallet platform, as issuing sees it. */
export interface Wallet {
  readonly platform: Platform
  /** The account at the platform that passes belong to: the pass type identifier, or the ID of the issuer. */
  readonly account: string
  /**
   * Builds everything that the platform would be sent and throws it away.
   * @throws ApiError PASS_ISSUING_FAILED, APPLE_SIGNING_FAILED or GOOGLE_JWT_FAILED where the pass could not be shown or
   * the signing identity is no longer sound.
   */
  check(pass: WalletPass, at: Date): Promise<void>
  /**
   * What the platform would refuse of a version that is to be published, with paths below its definition; the sample is a
   * pass of it. Where there is none, `check` of the sample stands for it.
   * @throws ApiError as check
   */
  checkVersion?(version: VersionContent, sample: WalletPass, at: Date): Promise<Issue[]>
  /** Compiles what the platform asks of the values of a version's passes; undefined where no value matters to it. */
  compileValues?(version: VersionContent): CheckValues | undefined
}
