import { platforms as allPlatforms, type Platform, platformFacts } from '../../core/contract/schemas/platform.ts'
import type { ServerKeys } from '../../core/rules/crypto/server-key.ts'
import type { Repositories, Store } from '../../storage/store.ts'
import {
  type IdentityUse,
  type NewIdentity,
  SERVER_IDENTITY,
  type StoredIdentity,
} from '../../storage/workspaces/identities-repository.ts'
import {
  type AppleCredentials,
  type AppleIdentity,
  parseAppleIdentity,
  parseCertificate,
  parseKeyPair,
} from '../../wallets/apple/apple-identity.ts'
import { assertIssuerId } from '../../wallets/google/google-identity.ts'
import { loadServerKeys } from '../boot/server-key.ts'
import { type Config, readSecret } from '../config.ts'
import { type AppleSecrets, readGoogleSigner, readPassFiles, sealSecrets } from '../identities/credentials.ts'
import { makeSandboxIssuer, makeSandboxPass } from '../identities/sandbox.ts'
import { findProjectsOfToken } from './manage-tokens.ts'
import {
  auditOperator,
  getOrCreateWorkspace,
  getWorkspace,
  OperatorError,
  withNewStore,
  withStore,
} from './operator.ts'

export type IdentityConfig = Pick<Config, 'databaseUrl' | 'serverKey' | 'previousServerKeys' | 'sandboxFolder'>

export interface ShownIdentity extends Omit<StoredIdentity, 'sealed' | 'version'> {
  /** The workspaces and projects whose new passes use the identity by default. */
  uses: IdentityUse[]
  /** The names of workspaces that can assign the identity to their projects. */
  workspaces: string[]
}

export interface UsePlace {
  workspace?: string | undefined
  project?: string | undefined
}

const [MAX_NAME, MAX_IDENTITIES, MAX_USES] = [100, 500, 100]

/** Creates an Apple identity from files, or in the sandbox from identifiers. @throws SetupError if it cannot be used */
export function addApple(
  config: IdentityConfig,
  options: UsePlace & {
    name: string
    from: AppleFiles | { passTypeIdentifier: string; teamIdentifier: string }
    at: Date
  },
): Promise<ShownIdentity> {
  const { name, from, at } = options
  return add(config, options, async () => {
    const isSandbox = 'passTypeIdentifier' in from
    const secrets = isSandbox ? await makeSandboxPass(config as Config, from, at) : readFiles(from)
    const credentials = credentialsOf(secrets, from)
    const read = isSandbox ? parseAppleIdentity(credentials, at) : await checkIdentity(credentials, at)
    const { passTypeIdentifier, teamIdentifier, certificate } = read
    const identity: NewIdentity = {
      platform: 'apple',
      name,
      isSandbox,
      passTypeIdentifier,
      teamIdentifier,
      issuerId: null,
      expiresAt: certificate.notAfter,
    }
    return { identity, text: JSON.stringify(secrets) }
  })
}

/**
 * Creates a Google identity. Without a key file, it uses the default credentials of this machine.
 * @throws SetupError if it cannot be used
 */
export function addGoogle(
  config: IdentityConfig,
  options: UsePlace & {
    name: string
    issuerId: string
    keyFile?: string | undefined
    isSandbox?: boolean
    at: Date
  },
): Promise<ShownIdentity> {
  const { name, issuerId, keyFile, isSandbox = false } = options
  return add(config, options, async () => {
    assertIssuerId(issuerId)
    const text = isSandbox ? await makeSandboxIssuer(config as Config, issuerId) : readKeyFile(keyFile)
    await readGoogleSigner(keyFile ?? '--key-file', text, issuerId)
    const none = { passTypeIdentifier: null, teamIdentifier: null, expiresAt: null }
    return { identity: { platform: 'google', name, isSandbox, issuerId, ...none }, text }
  })
}

/**
 * Sets the default identity for new passes, and reactivates the identity if it is retired. The name `server` removes
 * the default.
 * @throws OperatorError if the identity, workspace, or project does not exist, or the identity is for another platform
 */
export function setDefaultIdentity(
  config: Pick<Config, 'databaseUrl'>,
  name: string,
  { workspace = 'default', project, platform, at }: UsePlace & { platform?: Platform | undefined; at: Date },
): Promise<{ name: string; platforms: Platform[]; workspace: string; project: string | null }> {
  return withStore(config.databaseUrl, (store) =>
    store.transaction(async (tx) => {
      const known = name === SERVER_IDENTITY ? null : await getForUpdate(tx, name)
      if (known && platform !== undefined && platform !== known.platform) {
        throw new OperatorError(
          `${name} is an identity of ${platformFacts[known.platform].company}, not of ${platformFacts[platform].company}.`,
        )
      }
      if (known?.status === 'retired') await tx.identities.update(known.id, { status: 'active' }, at)
      const platforms = known ? [known.platform] : platform ? [platform] : allPlatforms
      const place = await findPlace(store, tx, { workspace, project })
      for (const one of platforms) await setDefault(tx, place, one, known)
      const target = { action: 'identity.use' as const, targetId: known?.id ?? null }
      await auditOperator(tx, place.workspaceId, target, at)
      return { name, platforms: [...platforms], workspace: place.workspace, project: project ?? null }
    }),
  )
}

/**
 * Retires an identity, or only its use by a workspace. New passes cannot use it, and existing passes are still updated.
 * @throws OperatorError if the identity is still the default of a workspace or project, or the workspace cannot use it
 */
export function retireIdentity(
  config: Pick<Config, 'databaseUrl'>,
  name: string,
  { workspace, at }: Pick<UsePlace, 'workspace'> & { at: Date },
): Promise<ShownIdentity> {
  return withStore(config.databaseUrl, (store) =>
    store.transaction(async (tx) => {
      const known = await getForUpdate(tx, name)
      const only = workspace === undefined ? undefined : await getWorkspace(store, workspace)
      const [use] = await tx.identities.listUses(known, 1, only?.id)
      if (use) {
        const where = use.project === undefined ? `the workspace ${use.workspace}` : `the project ${use.project}`
        throw new OperatorError(
          `${name} is the default of ${where}: set another default first, or run: ${removeUseCommand(known, use)}`,
        )
      }
      if (only) {
        if (!(await tx.identities.retireGrant(only.id, known.id)))
          throw new OperatorError(`Workspace ${only.name} already cannot use identity ${name}: nothing was changed.`)
        await auditOperator(tx, only.id, { action: 'identity.retire', targetId: known.id }, at)
        return show(tx, known)
      }
      await tx.identities.update(known.id, { status: 'retired' }, at)
      await auditIdentity(tx, known, 'identity.retire', at)
      return show(tx, { ...known, status: 'retired', updatedAt: at })
    }),
  )
}

/** Returns the command that removes the default of a workspace or project, which then inherits a default again. */
function removeUseCommand({ platform }: StoredIdentity, { workspace, project }: IdentityUse): string {
  const ofProject = project === undefined ? '' : ` --project ${JSON.stringify(project)}`
  return `passes identity use server --platform ${platform} --workspace ${JSON.stringify(workspace)}${ofProject}`
}

export function listIdentities(config: Pick<Config, 'databaseUrl'>): Promise<ShownIdentity[]> {
  return withStore(config.databaseUrl, async (store) => {
    const shown: ShownIdentity[] = []
    for (const identity of await store.identities.listAll()) shown.push(await show(store, identity))
    return shown
  })
}

export function showIdentity(config: Pick<Config, 'databaseUrl'>, name: string) {
  return withStore(config.databaseUrl, async (store) => show(store, await getIdentity(store, name)))
}

async function add(
  config: IdentityConfig,
  { name, workspace, project, at }: UsePlace & { name: string; at: Date },
  make: () => Promise<{ identity: NewIdentity; text: string | null }>,
): Promise<ShownIdentity> {
  requireName(name)
  return withKeys(config, async (store, keys) => {
    const { size } = await store.identities.versions()
    if (size >= MAX_IDENTITIES) throw new OperatorError(`A server can have at most ${MAX_IDENTITIES} identities.`)
    const { identity, text } = await make()
    if (workspace !== undefined || project !== undefined) await getOrCreateWorkspace(store, workspace ?? 'default', at)
    return store.transaction(async (tx) => {
      const sealedFor = (id: string) => (text === null ? null : sealSecrets(text, id, keys))
      const made = await tx.identities.insert(identity, sealedFor, at)
      if (!made) throw taken(identity, await tx.identities.findAny(identity))
      await auditOperator(tx, null, { action: 'identity.add', targetId: made.id }, at)
      if (workspace !== undefined || project !== undefined) {
        const place = await findPlace(store, tx, { workspace: workspace ?? 'default', project })
        await setDefault(tx, place, made.platform, made)
        await auditOperator(tx, place.workspaceId, { action: 'identity.use', targetId: made.id }, at)
      }
      return show(tx, made)
    })
  })
}

/** Creates the database and its key if they do not exist. */
export function withKeys<T>(config: IdentityConfig, work: (store: Store, keys: ServerKeys) => Promise<T>): Promise<T> {
  return withNewStore(config.databaseUrl, async (store) => work(store, await loadServerKeys(config as Config, store)))
}

function taken({ name, passTypeIdentifier, issuerId }: NewIdentity, known: StoredIdentity | undefined): OperatorError {
  if (known?.name === name) {
    return new OperatorError(
      `Identity ${name} already exists. To replace its certificate or key, run "passes identity renew".`,
    )
  }
  const what = passTypeIdentifier ? `The pass type ${passTypeIdentifier}` : `The issuer ${issuerId}`
  const again = known?.status === 'retired' ? ' To reactivate the identity, run "passes identity use".' : ''
  return new OperatorError(
    `${what} already has the identity ${known?.name}. To replace its key, run "passes identity renew".${again}`,
  )
}

function requireName(name: string): void {
  if (name === SERVER_IDENTITY) {
    throw new OperatorError(`"${SERVER_IDENTITY}" is reserved for the flags of "passes serve": choose another name.`)
  }
  if (/^[A-Za-z0-9](?:[A-Za-z0-9 ._-]*[A-Za-z0-9._-])?$/.test(name) && name.length <= MAX_NAME) return
  throw new OperatorError(
    `The name ${JSON.stringify(name)} must begin with a letter or digit, not end with a space, and have only ` +
      `letters, digits, spaces, dots, dashes, and underscores, at most ${MAX_NAME}, because metrics contain the ` +
      'name.',
  )
}

export async function getIdentity(store: Repositories, name: string): Promise<StoredIdentity> {
  return (await store.identities.findAny({ name })) ?? missing(name)
}

export async function getForUpdate(tx: Repositories, name: string): Promise<StoredIdentity> {
  return (await tx.identities.findForUpdate(name)) ?? missing(name)
}

function missing(name: string): never {
  const message =
    name === SERVER_IDENTITY
      ? 'The identity "server" is set by the flags of "passes serve": change the flags.'
      : `Identity ${name} not found. To list all identities, run "passes identity list".`
  throw new OperatorError(message)
}

interface Place {
  workspaceId: string
  workspace: string
  projectId?: string | undefined
}

async function findPlace(
  store: Store,
  tx: Repositories,
  { workspace, project }: { workspace: string; project?: string | undefined },
): Promise<Place> {
  const { id: workspaceId, name } = await getWorkspace(store, workspace)
  if (project === undefined) return { workspaceId, workspace: name }
  const [projectId] = await findProjectsOfToken(tx, workspaceId, { named: [project], scopes: undefined })
  return { workspaceId, workspace: name, projectId }
}

async function setDefault(
  tx: Repositories,
  place: Place,
  platform: Platform,
  identity: StoredIdentity | null,
): Promise<void> {
  if (identity) await tx.identities.insertGrant(place.workspaceId, identity.id)
  await tx.identities.setDefault(place, platform, identity?.id ?? null)
}

/** Records an action in the audit logs of the server and of each workspace that can use the identity. */
export async function auditIdentity(
  tx: Repositories,
  { id }: StoredIdentity,
  action: 'identity.renew' | 'identity.retire',
  at: Date,
): Promise<void> {
  const workspaces = await tx.identities.listWorkspaces(id)
  for (const workspaceId of [null, ...workspaces]) await auditOperator(tx, workspaceId, { action, targetId: id }, at)
}

export async function show(
  tx: Repositories,
  { sealed: _, version: __, ...identity }: StoredIdentity,
): Promise<ShownIdentity> {
  const { id } = identity
  const workspaces = await tx.identities.listUsers(id, MAX_USES)
  return { ...identity, uses: await tx.identities.listUses(identity, MAX_USES), workspaces }
}

export interface AppleFiles {
  certificate: string
  key?: string | undefined
  /** The passphrase of the key or the .p12 file. */
  passphrase?: string | undefined
  wwdr?: string | undefined
}

/**
 * Returns the secrets of an identity as they are stored.
 * @param known the intermediate certificate to use if no --wwdr file is given
 * @throws SetupError if a file cannot be read, or the intermediate certificate is missing
 */
export function readFiles(
  { certificate, key, passphrase, wwdr }: AppleFiles,
  known?: AppleCredentials['wwdr'],
): AppleSecrets {
  const passKeySource = key === undefined ? undefined : readSecret(key, '--key')
  const pass = readPassFiles({ certificate: readSecret(certificate, '--certificate'), key: passKeySource }, passphrase)
  // Parse these files before the check for --wwdr, so that a wrong file is reported first.
  const { leaf, key: passKey } = parseKeyPair(pass)
  const intermediate = wwdr === undefined ? known : readSecret(wwdr, '--wwdr')
  if (!intermediate) throw new OperatorError("Also give Apple's intermediate certificate: --wwdr (WWDR G4).")
  return {
    certificate: leaf.toString(),
    key: passKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    wwdr: parseCertificate(intermediate, 'WWDR certificate').toString(),
  }
}

/** Runs the certificate checks that a server runs when it starts. @throws CredentialError if one fails */
export async function checkIdentity(credentials: AppleCredentials, at: Date): Promise<AppleIdentity> {
  const identity = parseAppleIdentity(credentials, at)
  // Import the APNs client on demand, because other commands do not need it.
  const { assertTakesPush } = await import('../../wallets/apple/push.ts')
  assertTakesPush(identity)
  return identity
}

/** Returns the content of a service account's key file; null without one. @throws SetupError if it is unreadable */
export function readKeyFile(keyFile: string | undefined): string | null {
  return keyFile === undefined ? null : readSecret(keyFile, '--key-file').pem.toString()
}

/** Returns secrets as credentials to check, each with the name of its file for error messages. */
export function credentialsOf(secrets: AppleSecrets, from: object): AppleCredentials {
  const files: Partial<AppleFiles> = from
  const of = (name: 'certificate' | 'key' | 'wwdr') => ({ source: files[name] ?? `--${name}`, pem: secrets[name] })
  return { certificate: of('certificate'), key: of('key'), wwdr: of('wwdr') }
}
