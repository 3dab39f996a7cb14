import { Flags } from '@oclif/core'
import { BaseCommand } from '../../../cli/command/base-command.ts'
import { identityConfig, identityFlags, placeFlags, showIdentity } from '../../../cli/identity-flags.ts'

export default class IdentityAddGoogle extends BaseCommand {
  static override summary = 'Add a Google Wallet issuer.'
  static override description =
    'Works on the database; the key is encrypted with the server key. Without a key file, each server uses the ' +
    'account of its machine. Running servers use it within 10 seconds. To create passes under it, make it the ' +
    'default of a workspace or a project, here or with identity use.'
  static override examples = [
    '<%= config.bin %> identity add google --name acme-google --issuer 3388000000012345678 --key-file account.json --workspace acme',
    '<%= config.bin %> identity add google --name trial-google --issuer 3388000000000000001 --sandbox --json',
  ]
  static override flags = {
    ...identityFlags,
    ...placeFlags,
    name: Flags.string({ summary: 'Name, unique on this server.', required: true }),
    issuer: Flags.string({ summary: 'Issuer ID, a number.', required: true }),
    'key-file': Flags.string({
      summary: 'Key of the service account, or configuration of workload identity: a JSON file.',
      exclusive: ['sandbox'],
    }),
    sandbox: Flags.boolean({ summary: 'Use an issuer that exists only in the emulator.' }),
  }

  async run() {
    const { flags } = await this.parse(IdentityAddGoogle)
    const { name, workspace, project, issuer: issuerId, 'key-file': keyFile, sandbox: isSandbox } = flags
    const { addGoogle } = await import('../../../server/operator/manage-identities.ts')
    const options = { name, workspace, project, issuerId, keyFile, isSandbox, at: new Date() }
    const identity = await addGoogle(identityConfig(flags), options)
    this.log(showIdentity(identity))
    return identity
  }
}
