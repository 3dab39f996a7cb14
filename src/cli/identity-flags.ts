import { Flags, type Interfaces } from '@oclif/core'
import { details, localTimeOr } from './command/output.ts'
import { askSecret, canAsk, readStdin } from './command/prompt.ts'
import { databaseFlags, serveFlags } from './settings/server-flags.ts'

/** Flags of identity commands that encrypt keys. */
export const identityFlags = {
  ...databaseFlags,
  'server-key': serveFlags['server-key'],
  'previous-server-keys': serveFlags['previous-server-keys'],
  'sandbox-dir': serveFlags['sandbox-dir'],
}

/** Flags for the files of an Apple certificate. */
export const certificateFlags = {
  certificate: Flags.string({
    summary: 'Pass Type ID certificate: a PEM or DER file, or a .p12 file with its key.',
    helpGroup: 'APPLE',
  }),
  key: Flags.string({ summary: 'Private key: a PEM or DER file.', helpGroup: 'APPLE' }),
  'key-passphrase': Flags.string({
    summary: 'Password of the key or of the .p12 file.',
    env: 'PASSES_APPLE_KEY_PASSPHRASE',
    helpGroup: 'APPLE',
  }),
  'password-stdin': Flags.boolean({
    summary: 'Read the password from stdin.',
    exclusive: ['key-passphrase'],
    helpGroup: 'APPLE',
  }),
  wwdr: Flags.string({
    summary: "Apple's intermediate certificate (WWDR G4).",
    env: 'PASSES_APPLE_WWDR',
    helpGroup: 'APPLE',
  }),
}

/** Returns the password of a key or a .p12 file. On a terminal, asks for that of a .p12 file if no flag gives it. */
export async function passwordOf(flags: {
  certificate?: string | undefined
  'key-passphrase'?: string | undefined
  'password-stdin': boolean
  'no-input': boolean
}): Promise<string | undefined> {
  if (flags['password-stdin']) return readStdin()
  const isNeeded = flags['key-passphrase'] === undefined && /\.(p12|pfx)$/i.test(flags.certificate ?? '')
  if (!isNeeded || !canAsk({ noInput: flags['no-input'] })) return flags['key-passphrase']
  return askSecret(`Password of ${flags.certificate}: `)
}

/** Flags that make a new identity the default. */
export const placeFlags = {
  workspace: Flags.string({ summary: 'Make it the default of this workspace (name or ID).' }),
  project: Flags.string({ summary: 'Make it the default of this project of the workspace (name or ID).' }),
}

/** Returns the server settings that concern identities. */
export function identityConfig(flags: Interfaces.InferredFlags<typeof identityFlags>) {
  return {
    databaseUrl: flags.database,
    serverKey: flags['server-key'],
    previousServerKeys: flags['previous-server-keys'].split(',').filter((key) => key.trim() !== ''),
    sandboxFolder: flags['sandbox-dir'],
  }
}

interface ShownIdentity {
  id: string
  name: string
  platform: string
  isSandbox: boolean
  passTypeIdentifier: string | null
  teamIdentifier: string | null
  issuerId: string | null
  status: string
  expiresAt: Date | null
  uses: { workspace: string; project?: string }[]
  workspaces: string[]
}

/** Formats an identity. */
export function showIdentity(identity: ShownIdentity): string {
  const { id, name, platform, isSandbox, passTypeIdentifier, teamIdentifier, issuerId, status, expiresAt, uses } =
    identity
  const places = uses.map(({ workspace, project }) => (project === undefined ? workspace : `${workspace}/${project}`))
  return details([
    ['Identity', id],
    ['Name', name],
    ['Platform', isSandbox ? `${platform} (sandbox)` : platform],
    ['Pass type', passTypeIdentifier],
    ['Team', teamIdentifier],
    ['Issuer', issuerId],
    ['Status', status],
    ['Expires', platform === 'apple' ? localTimeOr(expiresAt?.toISOString() ?? null, 'never') : null],
    ['Default of', places.length > 0 ? places.join(', ') : 'nothing: passes identity use'],
    ['Assigned to', identity.workspaces.length > 0 ? identity.workspaces.join(', ') : 'no workspace'],
  ])
}
