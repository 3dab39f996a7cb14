import { Args, Flags, type Interfaces } from '@oclif/core'
import { platforms } from '../../core/contract/schemas/platform.ts'
import type { ShownIdentity } from '../../server/operator/manage-identities.ts'
import { UsageError } from '../command/cli-error.ts'
import { details, localTime, localTimeOr } from '../command/output.ts'
import { untilStopped } from '../command/program.ts'
import { askSecret, canAsk, readStdin } from '../command/prompt.ts'
import { itemsCommand, localCommand, type ResourceCommands } from '../command/resource-command.ts'
import type { ListShape } from '../list/shape.ts'
import { databaseFlags, serveFlags, workspaceFlags } from '../settings/server-flags.ts'

const shape: ListShape<ShownIdentity> = {
  columns: [
    { name: 'id', whole: true },
    ['name', 'platform'],
    { name: 'passTypeIdentifier', title: 'pass type' },
    { name: 'issuerId', title: 'issuer' },
    ['status'],
    { name: 'expiresAt', kind: 'time', title: 'expires', none: 'never' },
  ],
}

const nameArgs = { name: Args.string({ description: 'Name of the identity.', required: true }) }

const identityFlags = {
  ...databaseFlags,
  'server-key': serveFlags['server-key'],
  'previous-server-keys': serveFlags['previous-server-keys'],
  'sandbox-dir': serveFlags['sandbox-dir'],
}

const certificateFlags = {
  certificate: Flags.string({
    summary: 'Pass Type ID certificate: a PEM or DER file, or a .p12 file that also contains the key.',
    helpGroup: 'APPLE',
  }),
  key: Flags.string({ summary: 'Private key of the certificate: a PEM or DER file.', helpGroup: 'APPLE' }),
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

/** The flags that make a new identity a default. */
const placeFlags = {
  workspace: Flags.string({ summary: 'Workspace (name or ID) for which the identity becomes the default.' }),
  project: Flags.string({ summary: 'Project (name or ID) in the workspace, if only this project gets the default.' }),
}

const manageIdentities = () => import('../../server/operator/manage-identities.ts')

export const commands: ResourceCommands = {
  'identity:add:apple': localCommand({
    summary: 'Add an Apple pass type with its certificate.',
    description:
      'Accesses the database directly, and encrypts the private key with the server key. Running servers know the ' +
      'identity within 10 seconds. To create passes under the identity, make it the default of a workspace or a ' +
      'project: now with --workspace and --project, or later with "passes identity use".',
    examples: [
      'identity add apple --name acme --certificate pass.pem --key pass.key --wwdr AppleWWDRCAG4.cer --workspace acme',
      'identity add apple --name acme --certificate Certificates.p12 --wwdr AppleWWDRCAG4.cer',
      'identity add apple --name trial --sandbox --pass-type pass.test.trial --team TRIAL00001 --json',
    ],
    flags: {
      ...identityFlags,
      ...certificateFlags,
      ...placeFlags,
      name: Flags.string({ summary: 'Name, unique on this server.', required: true }),
      sandbox: Flags.boolean({
        summary: 'Use a sandbox certificate, which no real phone trusts.',
        dependsOn: ['pass-type', 'team'],
        exclusive: ['certificate', 'key'],
        helpGroup: 'SANDBOX',
      }),
      'pass-type': Flags.string({ summary: 'Pass type identifier.', dependsOn: ['sandbox'], helpGroup: 'SANDBOX' }),
      team: Flags.string({ summary: 'Team identifier.', dependsOn: ['sandbox'], helpGroup: 'SANDBOX' }),
    },
    async run({ flags }) {
      const { name, workspace, project } = flags
      const { addApple } = await manageIdentities()
      const from = certificateOf(flags, await passwordOf(flags))
      return addApple(identityConfig(flags), { name, workspace, project, from, at: new Date() })
    },
    print: showIdentity,
  }),
  'identity:add:google': localCommand({
    summary: 'Add a Google Wallet issuer.',
    description:
      'Accesses the database directly, and encrypts the key file with the server key. Without a key file, each ' +
      'server uses the account of its machine. Running servers know the issuer within 10 seconds. To create passes ' +
      'under the identity, make it the default of a workspace or a project: now with --workspace and --project, or ' +
      'later with "passes identity use".',
    examples: [
      'identity add google --name acme-google --issuer 3388000000012345678 --key-file account.json --workspace acme',
      'identity add google --name trial-google --issuer 3388000000000000001 --sandbox --json',
    ],
    flags: {
      ...identityFlags,
      ...placeFlags,
      name: Flags.string({ summary: 'Name, unique on this server.', required: true }),
      issuer: Flags.string({ summary: 'Google Wallet issuer ID, a number.', required: true }),
      'key-file': Flags.string({
        summary: 'JSON file with a service account key, or with a configuration of workload identity.',
        exclusive: ['sandbox'],
      }),
      sandbox: Flags.boolean({ summary: 'Use an issuer that exists only in the emulator.' }),
    },
    async run({ flags }) {
      const { name, workspace, project, issuer: issuerId, 'key-file': keyFile, sandbox: isSandbox } = flags
      const { addGoogle } = await manageIdentities()
      const options = { name, workspace, project, issuerId, keyFile, isSandbox, at: new Date() }
      return addGoogle(identityConfig(flags), options)
    },
    print: showIdentity,
  }),
  'identity:list': itemsCommand({
    summary: 'List the identities of the database.',
    description: 'The list omits the identity "server", which is set by the flags of "passes serve".',
    examples: ['identity list', 'identity list --json'],
    flags: databaseFlags,
    async read({ flags }) {
      const { listIdentities } = await manageIdentities()
      return listIdentities({ databaseUrl: flags.database })
    },
    shape,
    noun: ['identity', 'identities'],
    empty: 'Next: passes identity add apple --name …',
  }),
  'identity:show': localCommand({
    summary: 'Show an identity, and where it is the default.',
    description: 'The key is never shown.',
    examples: ['identity show acme', 'identity show acme --database sqlite:./data/passes.db --json'],
    args: nameArgs,
    flags: databaseFlags,
    async run({ args, flags }) {
      const operator = await manageIdentities()
      return operator.showIdentity({ databaseUrl: flags.database }, args.name)
    },
    print: showIdentity,
  }),
  'identity:renew': localCommand({
    summary: 'Renew the certificate or key of an identity.',
    description:
      'The new certificate must have the same pass type and team, because phones use both to identify their passes. ' +
      'Within 10 seconds, running servers sign and push with the new certificate. Pushes in flight finish on the old ' +
      'connection. Waiting updates continue automatically. To issue passes that failed before the renewal, run ' +
      '"passes jobs retry --all". A sandbox identity needs no files. With --watch, the command prints a line for ' +
      'each renewal, reports rejected files on stderr, and exits with 130 on Ctrl-C.',
    examples: [
      'identity renew acme --certificate pass.pem --key pass.key',
      'identity renew acme --certificate /run/secrets/pass.pem --key /run/secrets/pass.key --watch',
      'identity renew acme-google --key-file account.json --json',
      'identity renew acme-google --key-file /run/secrets/account.json --watch',
    ],
    args: nameArgs,
    flags: {
      ...identityFlags,
      ...certificateFlags,
      watch: Flags.boolean({
        summary: 'Keep running, and renew the identity whenever the files change, for example in a secret store.',
      }),
      'key-file': Flags.string({ summary: 'Key of the service account: a JSON file.', helpGroup: 'GOOGLE' }),
    },
    async run({ args, flags, isJson, note }) {
      const { certificate, key, wwdr, 'key-file': keyFile, watch } = flags
      if (certificate === undefined && key !== undefined) throw new UsageError('Give --certificate together with --key')
      const passphrase = await passwordOf(flags)
      const files = certificate === undefined ? undefined : { certificate, key, passphrase, wwdr }
      const config = identityConfig(flags)
      if (!watch) {
        const { renewIdentity } = await import('../../server/operator/renew-identity.ts')
        return renewIdentity(config, args.name, { files, keyFile, at: new Date() })
      }
      if (!files && keyFile === undefined)
        throw new UsageError('Give the files to watch: --certificate and --key, or --key-file')
      const { watchIdentity } = await import('../../server/operator/renew-identity.ts')
      const options = {
        files,
        keyFile,
        onWatching: () => note(`Watching the files of ${args.name}. Press Ctrl-C to stop.`),
        onRenewed: (identity: ShownIdentity) => {
          process.stdout.write(`${isJson ? JSON.stringify(identity) : renewedLine(identity)}\n`)
        },
        onRejected: (reason: string) => note(`Not renewed; the current certificate stays in use: ${reason}`),
      }
      return untilStopped((signal) => watchIdentity(config, args.name, { ...options, signal }), { bySigterm: true })
    },
    print: (identity) => identity && showIdentity(identity),
  }),
  'identity:use': localCommand({
    summary: 'Make an identity the default of a workspace or a project.',
    description:
      'Applies to new passes only: each pass keeps its identities permanently. The workspace can then also assign ' +
      'the identity to its projects (PATCH /v1/projects/{id}). A retired identity becomes active again. The name ' +
      '"server" removes the default: a project then uses the default of its workspace, and a workspace uses the ' +
      'identity from the flags of "passes serve". To also prevent projects from using an identity, run ' +
      '"passes identity retire --workspace".',
    examples: [
      'identity use acme --workspace acme',
      'identity use acme-google --workspace agency --project "Acme fair"',
      'identity use server --workspace acme --platform apple',
    ],
    args: { name: Args.string({ description: 'Name of the identity, or "server".', required: true }) },
    flags: {
      ...workspaceFlags,
      project: Flags.string({ summary: 'Name or ID of a project (default: the workspace itself).' }),
      platform: Flags.option({ options: platforms })({ summary: 'With the name "server": only this platform.' }),
    },
    async run({ args, flags: { database: databaseUrl, ...where } }) {
      const { setDefaultIdentity } = await manageIdentities()
      return setDefaultIdentity({ databaseUrl }, args.name, { ...where, at: new Date() })
    },
    print({ name, workspace, project, platforms }) {
      const where = project === null ? `the workspace ${workspace}` : `the project ${project}`
      return `New passes of ${where} use ${name} (${platforms.join(', ')}).`
    },
  }),
  'identity:retire': localCommand({
    summary: 'Stop creating passes under an identity.',
    description:
      'Existing passes of the identity are still updated, so its certificate must still be renewed. A default ' +
      'identity cannot be retired. First remove the default: run "passes identity use" with the reserved name ' +
      '"server". With --workspace, only that workspace stops using the identity, and cannot assign it to its ' +
      'projects. To undo, run "passes identity use".',
    examples: [
      'identity retire acme',
      'identity retire acme --workspace agency',
      'identity retire acme --database sqlite:./data/passes.db --json',
    ],
    args: nameArgs,
    flags: {
      ...databaseFlags,
      workspace: Flags.string({ summary: 'Name or ID of the workspace that stops using the identity (default: all).' }),
    },
    async run({ args, flags: { database: databaseUrl, workspace } }) {
      const { retireIdentity } = await manageIdentities()
      return retireIdentity({ databaseUrl }, args.name, { workspace, at: new Date() })
    },
    print: showIdentity,
  }),
}

type Given = Partial<Record<'certificate' | 'key' | 'wwdr' | 'pass-type' | 'team', string>>

/** @throws UsageError */
function certificateOf(
  { certificate, key, wwdr, ...flags }: Given & { sandbox: boolean },
  passphrase: string | undefined,
) {
  if (flags.sandbox) return { passTypeIdentifier: flags['pass-type']!, teamIdentifier: flags.team! }
  if (certificate === undefined) {
    throw new UsageError('Give --certificate (with --key, or a .p12 file), or --sandbox with --pass-type and --team')
  }
  return { certificate, key, passphrase, wwdr }
}

/**
 * Returns the password of a key or a .p12 file. On a terminal, asks for the password of a .p12 file if no flag gives
 * it.
 */
async function passwordOf(
  flags: Interfaces.InferredFlags<typeof certificateFlags> & { 'no-input'?: boolean },
): Promise<string | undefined> {
  if (flags['password-stdin']) return readStdin()
  const isNeeded = flags['key-passphrase'] === undefined && /\.(p12|pfx)$/i.test(flags.certificate ?? '')
  if (!isNeeded || !canAsk({ noInput: flags['no-input'] ?? false })) return flags['key-passphrase']
  return askSecret(`Password of ${flags.certificate}: `)
}

function identityConfig(flags: Interfaces.InferredFlags<typeof identityFlags>) {
  return {
    databaseUrl: flags.database,
    serverKey: flags['server-key'],
    previousServerKeys: flags['previous-server-keys'].split(',').filter((key) => key.trim() !== ''),
    sandboxFolder: flags['sandbox-dir'],
  }
}

function renewedLine({ name, expiresAt }: ShownIdentity): string {
  return expiresAt === null
    ? `Renewed ${name}: its key was replaced.`
    : `Renewed ${name}: its certificate is valid until ${localTime(expiresAt)}.`
}

function showIdentity(identity: ShownIdentity): string {
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
    ['Expires', platform === 'apple' ? localTimeOr(expiresAt, 'never') : null],
    ['Default of', places.length > 0 ? places.join(', ') : 'no workspace (to change this, run "passes identity use")'],
    ['Assigned to', identity.workspaces.length > 0 ? identity.workspaces.join(', ') : 'no workspace'],
  ])
}
