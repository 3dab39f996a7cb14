import { ApiError, validationError } from '../../core/errors.ts'
import type { LoadImageFiles, Wallet, WalletPass } from '../wallet.ts'
import { createSigner } from './cms.ts'
import { type AppleIdentity, assertSound } from './identity.ts'
import type { CardImages } from './image-files.ts'
import { createImageSets } from './images.ts'
import { checkOverrides, compileOverrides } from './overrides/override-check.ts'
import type { JsonObject } from './overrides/overrides.ts'
import { isRefusedByPhones, PassJson } from './overrides/pass-json-schema.ts'
import { type PackageFile, packageFile } from './package-file.ts'
import { buildPassJson } from './pass-json.ts'
import { zip } from './zip.ts'

export interface AppleWallet extends Wallet {
  readonly platform: 'apple'
  readonly passTypeIdentifier: string
  /** pass.json alone, as the package would hold it. */
  passJson(pass: WalletPass): JsonObject
  /**
   * The signed package (application/vnd.apple.pkpass), signed as at the given moment.
   * @throws Problem PASS_ISSUING_FAILED where an image cannot be read; APPLE_SIGNING_FAILED
   */
  buildPackage(pass: WalletPass, at: Date): Promise<Buffer>
}

export interface AppleWalletOptions {
  identity: AppleIdentity
  /** The base of the web service that phones call, without /v1; they only call https. */
  webServiceUrl: string
  loadImageFiles: LoadImageFiles
}

const PLAIN_ICON = '#8e8e93'

export function createAppleWallet({ identity, webServiceUrl, loadImageFiles }: AppleWalletOptions): AppleWallet {
  const sign = createSigner(identity)
  const imageFilesOf = createImageSets(loadImageFiles)
  const passJson = (pass: WalletPass) => buildPassJson(pass, identity, webServiceUrl)

  return {
    platform: 'apple',
    passTypeIdentifier: identity.passTypeIdentifier,
    passJson,

    async check(pass, at) {
      assertSound(identity, at)
      const { error } = PassJson.safeParse(passJson(pass))
      const issues = error?.issues.filter(isRefusedByPhones) ?? []
      if (issues.length > 0) throw unshowable(issues)
      await imageFilesOf(imagesOf(pass))
    },

    async checkVersion({ definition, passType }, sample, at) {
      assertSound(identity, at)
      await imageFilesOf(imagesOf(sample))
      return checkOverrides(definition, passType)
    },

    compileValues: ({ definition, passType }) => compileOverrides(definition, passType),

    async buildPackage(pass, at) {
      assertSound(identity, at)
      const json = packageFile('pass.json', Buffer.from(JSON.stringify(passJson(pass))))
      const signed = [json, ...(await imageFilesOf(imagesOf(pass)))]
      const manifest = manifestOf(signed)
      const signature = await sign(manifest.bytes, at).catch((cause: unknown) => {
        throw new ApiError('APPLE_SIGNING_FAILED', { cause })
      })
      return zip([...signed, manifest, packageFile('signature', signature)])
    },
  }
}

function imagesOf({ card }: WalletPass): CardImages {
  return { images: card.images, background: card.colors.background ?? PLAIN_ICON }
}

function manifestOf(files: PackageFile[]): PackageFile {
  const digests = Object.fromEntries(files.map(({ name, sha1Hex }) => [name, sha1Hex]))
  return packageFile('manifest.json', Buffer.from(JSON.stringify(digests)))
}

function unshowable(issues: { path: PropertyKey[]; message: string }[]): ApiError {
  const { message, details } = validationError(
    issues.map((issue) => ({
      path: issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part)),
      message: issue.message,
    })),
  )
  return new ApiError('PASS_ISSUING_FAILED', { message: `A phone would refuse pass.json: ${message}`, details })
}
