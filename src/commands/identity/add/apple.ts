import { Flags } from '@oclif/core'
import { BaseCommand } from '../../../cli/command/base-command.ts'
import { UsageError } from '../../../cli/command/cli-error.ts'
import {
  certificateFlags,
  identityConfig,
  identityFlags,
  passwordOf,
  placeFlags,
  showIdentity,
} from '../../../cli/identity-flags.ts'

export default class IdentityAddApple extends BaseCommand {
  static override summary = 'Add an Apple pass type with its certificate.'
  static override description =
    'Works on the database; the key is encrypted with the server key. Running servers use it within 10 seconds. To ' +
    'create passes under it, make it the default of a workspace or a project, here or with identity use.'
  static override examples = [
    '<%= config.bin %> identity add apple --name acme --certificate pass.pem --key pass.key --wwdr AppleWWDRCAG4.cer --workspace acme',
    '<%= config.bin %> identity add apple --name acme --certificate Certificates.p12 --wwdr AppleWWDRCAG4.cer',
    '<%= config.bin %> identity add apple --name trial --sandbox --pass-type pass.test.trial --team TRIAL00001 --json',
  ]
  static override flags = {
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
  }

  async run() {
    const { flags } = await this.parse(IdentityAddApple)
    const { name, workspace, project } = flags
    const { addApple } = await import('../../../server/operator/manage-identities.ts')
    const identity = await addApple(identityConfig(flags), {
      name,
      workspace,
      project,
      from: sourceOf(flags, await passwordOf(flags)),
      at: new Date(),
    })
    this.log(showIdentity(identity))
    return identity
  }
}

type Given = Partial<Record<'certificate' | 'key' | 'wwdr' | 'pass-type' | 'team', string>>

/** @throws UsageError */
function sourceOf({ certificate, key, wwdr, ...flags }: Given & { sandbox: boolean }, passphrase: string | undefined) {
  if (flags.sandbox) return { passTypeIdentifier: flags['pass-type']!, teamIdentifier: flags.team! }
  if (certificate === undefined) {
    throw new UsageError('Give --certificate (with --key, or a .p12 file), or --sandbox with --pass-type and --team')
  }
  return { certificate, key, passphrase, wwdr }
}
