import { HTTPResponse } from 'h3'
import { ApiError } from '../../core/errors.ts'
import { createLoadingCache } from '../../core/fair-cache.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { AppleWallet, UnsignedPackage } from '../../wallets/apple/apple-wallet.ts'
import { type ZipEntry, zip, zipEntry } from '../../wallets/apple/package.ts'
import { createBodyRoom } from '../admission/in-flight.ts'
import { namesTag } from '../http/negotiation.ts'
import { createFairQueue } from '../images/images.ts'
import type { Logger } from '../log.ts'
import type { Issuing } from './issuing.ts'

export type Packages = ReturnType<typeof createPackages>

/** A file of packages (application/vnd.apple.pkpasses). */
export interface Bundle {
  file: Buffer
  /** The number of passes that the file covers, including omitted ones. Less than requested if the file is full. */
  taken: number
  /** Releases the file, whose bytes count toward the limit of bundles until then. Call it after the file was sent. */
  leave(): void
}

export type PackagesOptions = Partial<typeof LIMITS> & { log?: Pick<Logger, 'warn'> }

interface SignablePackage extends UnsignedPackage {
  sign(at: Date): Promise<Buffer>
}

const MAX_LOGGED = 1_000

/** The number of concurrent signatures. Leaves one of the four threads of Node's pool to the database. */
const SIGNING_AT_ONCE = 3

/** The limits on bundles that are created or queued. Each contains up to ten complete packages. */
const BUNDLES = { max: 64, maxOfOwner: 16, places: 2, toError: busy }

const LIMITS = {
  /** The size of the cache: a few thousand signatures. */
  maxBytes: 16 * 1024 * 1024,
  /** The maximum number of running and queued signatures: 0.25 s of work on two cores. */
  maxSigning: 1_024,
  maxSigningOfWorkspace: 512,
  /**
   * The maximum size of a bundle. It is far below the 150 MB that iPhones accept, because two bundles and their parts
   * can be in memory at the same time.
   */
  maxBundleBytes: 64 * 1024 * 1024,
  /**
   * The maximum bytes of bundles in transfer, for all workspaces. Each workspace can use half of them. A client that
   * reads slowly holds a bundle for up to two minutes.
   */
  maxSendingBytes: 256 * 1024 * 1024,
}

/** Creates signed packages. Signatures are cached by content, so that they are never stale (decisions/0014). */
export function createPackages(
  walletOf: (pass: StoredPass) => Promise<Pick<AppleWallet, 'preparePackage' | 'signPackage'>>,
  issuing: Pick<Issuing, 'renderForApple'>,
  { log, ...limits }: PackagesOptions = {},
) {
  const { maxBytes, maxSigning, maxSigningOfWorkspace, maxBundleBytes, maxSendingBytes } = { ...LIMITS, ...limits }
  const queue = createFairQueue({
    max: maxSigning,
    maxOfOwner: maxSigningOfWorkspace,
    places: SIGNING_AT_ONCE,
    toError: busy,
  })
  const bundles = createFairQueue(BUNDLES)
  const sending = createBodyRoom({
    processBytes: maxSendingBytes,
    workspaceBytes: maxSendingBytes / 2,
    toError: busy,
  })
  const signatures = createLoadingCache<Buffer>(maxBytes, ({ length }) => length)

  const logged = new Set<string>()

  async function prepare(pass: StoredPass, at: Date): Promise<SignablePackage> {
    const apple = await walletOf(pass)
    const unsigned = await apple.preparePackage(await issuing.renderForApple(pass), at)
    if (unsigned.ambiguous) warnOnce(pass, unsigned.ambiguous)
    return { ...unsigned, sign: (moment) => apple.signPackage(unsigned, moment) }
  }

  /** Warns once per version, which can have thousands of passes. The log contains only the names of fields. */
  function warnOnce({ templateId, templateVersionId, templateVersion }: StoredPass, ambiguous: object): void {
    if (logged.has(templateVersionId)) return
    if (logged.size >= MAX_LOGGED) logged.clear()
    logged.add(templateVersionId)
    const facts = { templateId, templateVersionId, templateVersion, ...ambiguous }
    log?.warn(
      facts,
      'two texts of a pass are equal but have different translations: iPhones show the first translation for both',
    )
  }

  /** Returns the signature of a package. Concurrent requests for the same content share one signature. */
  function signatureOf(unsigned: SignablePackage, workspaceId: string, at: Date): Promise<Buffer> {
    const sign = () => queue.run(workspaceId, () => unsigned.sign(at))
    return signatures.find(unsigned.digest, sign, workspaceId)
  }

  /**
   * @throws ApiError PASS_ISSUING_FAILED if the pass cannot be rendered; APPLE_SIGNING_FAILED; SERVICE_UNAVAILABLE with
   *   Retry-After if too many signatures are queued, in total or for the workspace
   */
  async function build(pass: StoredPass, at: Date): Promise<Buffer> {
    const unsigned = await prepare(pass, at)
    return unsigned.complete(await signatureOf(unsigned, pass.workspaceId, at))
  }

  return {
    /** Responds with 304 if the client has the current package. Does not sign for HEAD. @throws errors of `build` */
    async answer(pass: StoredPass, { method, headers }: Pick<Request, 'method' | 'headers'>, at: Date) {
      const given = { tag: headers.get('if-none-match'), since: headers.get('if-modified-since') }
      const answered: Record<string, string> = {
        // Allow only the client to cache the package, and require revalidation: the pass can become void, and its link
        // can be revoked.
        'cache-control': 'private, no-cache',
        'last-modified': pass.modifiedAt.toUTCString(),
      }
      // Compare dates first, because this needs no rendering. Do not compare them if the client sent a tag, which takes
      // precedence (RFC 9110, 13.2.2).
      if (given.tag === null && isUnmodified(pass, given.since)) {
        return new HTTPResponse(null, { status: 304, headers: answered })
      }
      const unsigned = await prepare(pass, at)
      // The tag is weak, because any signature of the same content is equivalent.
      answered.etag = `W/"${unsigned.digest}"`
      if (given.tag !== null && namesTag(given.tag, [unsigned.digest])) {
        return new HTTPResponse(null, { status: 304, headers: answered })
      }
      answered['content-type'] = 'application/vnd.apple.pkpass'
      if (method === 'HEAD') return new HTTPResponse(null, { headers: answered })
      const file = unsigned.complete(await signatureOf(unsigned, pass.workspaceId, at))
      answered['content-length'] = String(file.length)
      return new HTTPResponse(new Uint8Array(file.buffer as ArrayBuffer, file.byteOffset, file.length), {
        headers: answered,
      })
    },

    build,

    /**
     * Returns the packages of up to ten passes in one file. Omits passes that cannot be rendered, and stops before a
     * pass that would make the file larger than 64 MiB.
     * @throws errors of `build`, but PASS_ISSUING_FAILED only if no pass can be rendered; SERVICE_UNAVAILABLE also if
     * too many bytes of bundles are in transfer, in total or for the workspace
     */
    async bundle(passes: readonly StoredPass[], at: Date): Promise<Bundle> {
      const owner = passes[0]?.workspaceId ?? ''
      return bundles.run(owner, async () => {
        const shown: ZipEntry[] = []
        let taken = 0
        let unshown: ApiError | undefined
        for (const [n, pass] of passes.entries()) {
          const file = await build(pass, at).catch(asUnshown)
          if (file instanceof ApiError) {
            unshown ??= file
          } else {
            if (shown.length > 0 && bytesOf(shown) + file.length > maxBundleBytes) break
            shown.push(zipEntry(fileName(n), file))
          }
          taken += 1
        }
        if (shown.length === 0) throw unshown ?? new Error('A bundle needs at least one pass')
        const { reserve, leave } = sending.enter(owner)
        reserve(bytesOf(shown))
        return { file: zip(shown), taken, leave }
      })
    },
  }
}

function bytesOf(entries: ZipEntry[]): number {
  return entries.reduce((sum, { bytes }) => sum + bytes.length, 0)
}

function fileName(n: number): string {
  return `pass-${String(n + 1).padStart(2, '0')}.pkpass`
}

/** Returns the error if a pass cannot be rendered, so that the bundle omits the pass. Rethrows other errors. */
function asUnshown(error: unknown): ApiError {
  if (error instanceof ApiError && error.code === 'PASS_ISSUING_FAILED') return error
  throw error
}

/**
 * Whether the client has the current version. Dates must be equal: each version has a unique date, so a later date
 * means other content, from another server or from before a restore.
 */
function isUnmodified({ modifiedAt }: StoredPass, since: string | null): boolean {
  return since !== null && modifiedAt.getTime() === Date.parse(since)
}

function busy(isOwners: boolean): ApiError {
  const message = isOwners
    ? 'Too many passes of this workspace are opened at the same time; try again in a moment.'
    : 'Too many passes are opened at the same time; try again in a moment.'
  return new ApiError('SERVICE_UNAVAILABLE', { message, headers: { 'retry-after': '1' } })
}
