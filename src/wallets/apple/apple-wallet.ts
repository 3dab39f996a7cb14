import { hash } from 'node:crypto'
import { ApiError, describeIssue, type Issue, validationError } from '../../core/errors.ts'
import { mapInSlices } from '../../core/slices.ts'
import type { LoadImageFiles, VersionContent, Wallet } from '../wallet.ts'
import { type AppleIdentity, assertSound } from './apple-identity.ts'
import { createImageSets, type ImageSet, toImageSets } from './image-files.ts'
import { checkOverrides, compileOverrides } from './overrides/override-check.ts'
import type { JsonObject } from './overrides/overrides.ts'
import { isRefusedByPhones, PassJson } from './overrides/pass-json-schema.ts'
import { checkPoster } from './overrides/poster-check.ts'
import { createSigner, type PackageFile, packageFile, zip, zipEntry } from './package.ts'
import { type ApplePass, buildPassJson, pathInAppleOverrides } from './pass-json.ts'
import { type AmbiguousText, stringsFile, stringsOf } from './strings.ts'

export interface AppleWallet extends Wallet {
  readonly platform: 'apple'
  passJson(pass: ApplePass): JsonObject
  /**
   * Prepares a package, except for the signature, which takes the most time to create.
   * @throws ApiError PASS_ISSUING_FAILED, APPLE_SIGNING_FAILED
   */
  preparePackage(pass: ApplePass, at: Date): Promise<UnsignedPackage>
  /**
   * Creates the signature of a package. Packages with the same content can share a signature.
   * @throws ApiError APPLE_SIGNING_FAILED
   */
  signPackage(unsigned: UnsignedPackage, at: Date): Promise<Buffer>
  /** Uses a renewed certificate of the same pass type and team for further signatures. */
  renew(identity: AppleIdentity): void
}

/** A package (application/vnd.apple.pkpass) without its signature. */
export interface UnsignedPackage {
  /** An ID of the content and the signer: SHA-256 of the manifest, and a short name of the certificate. */
  digest: string
  manifestSha256: Buffer
  /** A text that phones show with a wrong translation, because it equals another text in this pass. */
  ambiguous?: AmbiguousText & { language: string }
  complete(signature: Buffer): Buffer
}

export interface AppleWalletOptions {
  identity: AppleIdentity
  /** The base URL of the web service that phones call, without /v1. Phones require https. */
  webServiceUrl: string
  loadImageFiles: LoadImageFiles
  /** The maximum size of the images in a package, in bytes; 20 MiB by default. */
  maxImageBytes?: number
}

/**
 * The default of `maxImageBytes`. It limits the memory of a download with images in many languages. The images of one
 * poster, in all scales, have up to 12 MiB.
 */
const MAX_IMAGE_BYTES = 20 * 1024 * 1024

const TOO_LARGE =
  'The images of the package exceed 20 MiB in all scales and languages. Use smaller images, or fewer images that differ by language.'

export function createAppleWallet(options: AppleWalletOptions): AppleWallet {
  const { webServiceUrl, loadImageFiles, maxImageBytes = MAX_IMAGE_BYTES } = options
  let { identity, sign, name } = signerOf(options.identity)
  const imageSets = createImageSets(loadImageFiles)

  /** Loads one set of images at a time, so that a pass with too many images never has all of them in memory. */
  async function imagesOf({ card, translations, translatedImages = translations }: ApplePass): Promise<ImageSet[]> {
    const sets: ImageSet[] = []
    let bytes = 0
    for (const shown of toImageSets(card, translatedImages)) {
      const set = await imageSets(shown)
      bytes += set.part.size
      if (bytes > maxImageBytes) throw new ApiError('PASS_ISSUING_FAILED', { message: TOO_LARGE })
      sets.push(set)
    }
    return sets
  }
  const passJson = (pass: ApplePass) => buildPassJson(pass, identity, webServiceUrl)
  async function filesOf(pass: ApplePass): Promise<Pick<UnsignedPackage, 'ambiguous'> & { files: PackageFile[] }> {
    const json = passJson(pass)
    const file = packageFile('pass.json', Buffer.from(JSON.stringify(json)))
    const { card, translations = [] } = pass
    if (card.language === undefined) return { files: [file] }
    const read = await mapInSlices(translations, (other) => ({
      language: other.language!,
      ...stringsOf(json, passJson({ ...pass, card: other })),
    }))
    const others = read.map(({ language, strings }) => [language, strings] as const)
    const [ambiguous] = read.flatMap((one) => (one.ambiguous ? [{ ...one.ambiguous, language: one.language }] : []))
    // Include a file for the default language. Otherwise, a phone in this language would show another language.
    const originals = new Map(others.flatMap(([, strings]) => [...strings.keys()].map((text) => [text, text] as const)))
    const languages = [[card.language, originals] as const, ...others]
    const ofLanguages = languages.map(([language, strings]) =>
      packageFile(`${language}.lproj/pass.strings`, stringsFile(strings)),
    )
    return { files: [file, ...ofLanguages], ...(ambiguous && { ambiguous }) }
  }

  return {
    platform: 'apple',
    account: options.identity.passTypeIdentifier,
    passJson,

    async check(pass, at) {
      assertSound(identity, at)
      checkPassJson(passJson(pass), pass.card.apple)
      await imagesOf(pass)
    },

    checkVersion,

    compileValues: ({ definition, passType }) => compileOverrides(definition, passType),

    async preparePackage(pass, at) {
      assertSound(identity, at)
      const sets = await imagesOf(pass)
      const { files, ambiguous } = await filesOf(pass)
      const digests = Object.assign({}, ...sets.map(({ digests }) => digests))
      const parts = sets.map(({ part }) => part)
      const ownDigests = Object.fromEntries(files.map(({ name, sha1Hex }) => [name, sha1Hex]))
      const manifest = Buffer.from(JSON.stringify({ ...digests, ...ownDigests }))
      const manifestSha256 = hash('sha256', manifest, 'buffer')
      return {
        digest: `${manifestSha256.toString('base64url')}-${name}`,
        manifestSha256,
        ...(ambiguous && { ambiguous }),
        complete: (signature) =>
          zip([...files, zipEntry('manifest.json', manifest), zipEntry('signature', signature)], parts),
      }
    },

    signPackage: ({ manifestSha256 }, at) =>
      sign(manifestSha256, at).catch((cause: unknown) => {
        throw new ApiError('APPLE_SIGNING_FAILED', { cause })
      }),

    renew(renewed) {
      ;({ identity, sign, name } = signerOf(renewed))
    },
  }
}

/** Returns the identity, its signer, and a short name of its certificate for the digests of packages. */
function signerOf(identity: AppleIdentity) {
  return { identity, sign: createSigner(identity), name: hash('sha256', identity.certificate.der).slice(0, 8) }
}

export function checkVersion({ definition, passType }: VersionContent): Issue[] {
  return [...checkOverrides(definition, passType), ...checkPoster(definition, passType)]
}

/**
 * @param overrides the filled overrides from which the pass.json was built; issues have their paths
 * @throws ApiError PASS_ISSUING_FAILED if phones would reject a pass.json
 */
export function checkPassJson(json: JsonObject, overrides: JsonObject): void {
  const { error } = PassJson.safeParse(json, { error: describeIssue })
  const issues = error?.issues.filter(isRefusedByPhones) ?? []
  if (issues.length === 0) return
  const { message, details } = validationError(
    issues.map((issue) => ({
      path: pathInAppleOverrides(
        overrides,
        json,
        issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part)),
      ),
      message: issue.message,
    })),
  )
  throw new ApiError('PASS_ISSUING_FAILED', { message: `Phones would reject pass.json: ${message}`, details })
}
