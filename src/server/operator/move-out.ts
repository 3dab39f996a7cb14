import { request } from 'undici'
import type { MoveProgress, StoredMove } from '../../storage/operations/moves.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { Store } from '../../storage/store.ts'
import { isLoopback } from '../config.ts'
import { findAddress, webServiceUrl } from '../inbound/apple-service.ts'
import { auditOperator, getWorkspace, OperatorError } from './operator.ts'

export interface Move extends StoredMove {
  workspaceId: string
  progress: MoveProgress
}

export interface MoveOptions {
  /** The address of the other server, as parseMoveTarget returns it. */
  url: string
  /**
   * The number of passes per second whose phones receive a push. Default: the pace of a current move to this address;
   * if there is none, 50.
   */
  passesASecond?: number | undefined
  at: Date
}

const USUAL_PACE = 50

/**
 * Parses the address of the other server. Returns a problem if phones cannot use the address. Phones of the sandbox can
 * use loopback addresses.
 */
export function parseMoveTarget(text: string): { url: string } | { problem: string } {
  if (!URL.canParse(text)) return { problem: 'is not an address such as https://passes.example.com/apple' }
  const { protocol, hostname, username, password, search, hash, pathname, origin } = new URL(text)
  if (protocol !== 'https:' && !(protocol === 'http:' && isLoopback(hostname))) {
    return { problem: 'must begin with https://, because phones use no other scheme' }
  }
  if (username !== '' || password !== '') return { problem: 'must not contain a user or a password' }
  if (search !== '' || hash !== '') return { problem: 'must have no query or fragment, because phones append a path' }
  const path = pathname.replace(/\/+$/, '')
  if (/\/v1$/.test(path)) return { problem: 'must not end with /v1, which phones append' }
  return { url: `${origin}${path}` }
}

export async function findMove(store: Store, workspace: string): Promise<Move | undefined> {
  const { id: workspaceId } = await getWorkspace(store, workspace)
  const move = await store.moves.find(workspaceId)
  if (!move) return undefined
  return { ...move, workspaceId, progress: await store.moves.findProgress(workspaceId, move) }
}

/**
 * Starts a move, or changes its pace. Another address restarts the move. Running servers push to the phones.
 * @throws OperatorError if the workspace does not exist
 */
export async function startMove(store: Store, workspace: string, options: MoveOptions): Promise<void> {
  const { url, passesASecond, at } = options
  const { id } = await getWorkspace(store, workspace)
  await store.transaction(async (tx) => {
    const before = await tx.moves.find(id)
    if (before?.url === url) return tx.moves.setPace(id, passesASecond ?? before.passesASecond)
    await tx.moves.insert(id, { url, passesASecond: passesASecond ?? USUAL_PACE }, at)
    await auditOperator(tx, id, { action: 'workspace.move-out', targetId: id }, at)
  })
}

/**
 * Cancels a move: new packages contain the address of this server again. Phones that already moved do not return.
 * @throws OperatorError if no move is in progress
 */
export async function cancelMove(store: Store, workspace: string, at: Date): Promise<void> {
  const { id } = await getWorkspace(store, workspace)
  await store.transaction(async (tx) => {
    if (!(await tx.moves.find(id))) throw new OperatorError('No move is in progress.')
    await tx.moves.delete(id)
    await auditOperator(tx, id, { action: 'workspace.move-back', targetId: id }, at)
  })
}

const CHECK_SECONDS = 10

const MAX_CHECKED = 100

/**
 * Checks the other address as a phone would: for each identity and template, requests the newest pass that a phone
 * holds. A phone that moves to a server without its pass is lost permanently. Returns false if no phone holds a pass.
 * @param passTypeIdentifier the pass type of the server's own identity, which is not in the database
 * @throws OperatorError if the address does not serve one of the passes, or if phones already use the address
 */
export async function checkTarget(
  store: Store,
  workspace: string,
  { url, passTypeIdentifier }: { url: string; passTypeIdentifier: string | undefined },
): Promise<boolean> {
  const { id } = await getWorkspace(store, workspace)
  const under = await store.moves.find(id)
  if (under?.url !== url && (await isOnlyAddress(store, url))) throw isOwn(url, under)
  const passes = await store.passes.listByIds(id, await store.moves.listSamples(id, MAX_CHECKED))
  for (const pass of passes) await checkPass(pass, url, await passTypeOf(store, pass, passTypeIdentifier))
  return passes.length > 0
}

/**
 * Whether all phones already use `url`. False if the server changed its address, because phones keep the former address
 * until they are moved.
 */
async function isOnlyAddress(store: Store, url: string): Promise<boolean> {
  const address = await findAddress(store)
  if (!address || address.former !== undefined) return false
  const own = parseMoveTarget(webServiceUrl(address.publicUrl))
  return 'url' in own && own.url === url
}

function isOwn(url: string, underWay: StoredMove | undefined): OperatorError {
  const next = underWay
    ? 'to put this address into packages again, run "passes move-out --cancel"'
    : 'its packages contain this address, so no phone has to move. Give the webServiceURL of the next server, or a new ' +
      'address at which this server responds. If phones still use another address, move them here with --unchecked'
  return new OperatorError(`${url} is already the address of this server: ${next}.`)
}

async function passTypeOf(store: Store, pass: StoredPass, ofServer: string | undefined): Promise<string> {
  const [identity] = pass.appleIdentityId === null ? [] : await store.identities.listByIds([pass.appleIdentityId])
  const type = identity ? identity.passTypeIdentifier! : ofServer
  if (type !== undefined) return type
  throw new OperatorError(
    'Give the pass type of "passes serve" with --apple-pass-type, so that a pass can be requested from the ' +
      'address. To skip this check, use --unchecked.',
  )
}

async function checkPass(pass: StoredPass, url: string, type: string): Promise<void> {
  const address = `${url}/v1/passes/${encodeURIComponent(type)}/${encodeURIComponent(pass.serialNumber)}`
  const addressError = (why: string) =>
    new OperatorError(
      `${url} ${why}. Phones that move there would be lost. First import the passes on the new server ` +
        `("passes export --handover"), and check that ${url} reaches it. To move the phones anyway, use ` +
        '--unchecked.',
    )
  const ask = async (method: 'HEAD' | 'GET'): Promise<number> => {
    // Do not follow redirects, because phones do not send their tokens to another address.
    const { statusCode, body } = await request(address, {
      method,
      headers: { authorization: `ApplePass ${pass.appleToken}` },
      signal: AbortSignal.timeout(CHECK_SECONDS * 1000),
    })
    body.on('error', () => undefined).destroy()
    return statusCode
  }
  let status: number
  try {
    // Use HEAD, because a passes server records a GET as a fetch by a phone.
    status = await ask('HEAD')
    if (status === 405 || status === 501) status = await ask('GET')
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    throw addressError(`cannot be reached (${message || code})`)
  }
  if (status !== 200) throw addressError(`responds with ${status} for the pass ${pass.id} (${type}), which phones hold`)
}
