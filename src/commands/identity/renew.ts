import { Args, Flags } from '@oclif/core'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { UsageError } from '../../cli/command/errors.ts'
import { certificateFlags, identityConfig, identityFlags, showIdentity } from '../../cli/identity.ts'
import type { AppleFiles } from '../../server/operator/identity-files.ts'

export default class IdentityRenew extends BaseCommand {
  static override summary = 'Give an identity its renewed certificate, or another key.'
  static override description =
    'The certificate must be of the same pass type and team: phones know their passes by them. Running servers sign and push ' +
    'with it within 10 seconds; what is on its way ends over the connection of before. One of the sandbox renews itself.'
  static override examples = [
    '<%= config.bin %> identity renew acme --certificate pass.pem --key pass.key',
    '<%= config.bin %> identity renew acme --certificate /run/secrets/pass.pem --key /run/secrets/pass.key --watch',
    '<%= config.bin %> identity renew acme-google --key-file account.json --json',
  ]
  static override args = { name: Args.string({ description: 'Name of the identity.', required: true }) }
  static override flags = {
    ...identityFlags,
    ...certificateFlags,
    watch: Flags.boolean({
      summary: 'Stay, and renew whenever the files change, as a secret store rewrites them.',
      dependsOn: ['certificate', 'key'],
      helpGroup: 'APPLE',
    }),
    'key-file': Flags.string({ summary: 'Key of the service account: a JSON file.', helpGroup: 'GOOGLE' }),
  }

  async run() {
    const { args, flags } = await this.parse(IdentityRenew)
    const { certificate, key, wwdr, 'key-passphrase': passphrase, 'key-file': keyFile } = flags
    if ((certificate === undefined) !== (key === undefined))
      throw new UsageError('Give --certificate and --key together')
    const files = certificate !== undefined && key !== undefined ? { certificate, key, passphrase, wwdr } : undefined
    if (files && flags.watch) return this.follow(args.name, files, identityConfig(flags))
    const { renewIdentity } = await import('../../server/operator/identities.ts')
    const identity = await renewIdentity(identityConfig(flags), args.name, { files, keyFile, at: new Date() })
    this.log(showIdentity(identity))
    return identity
  }

  /** Each renewal is a line, under --json too; what is refused is said on stderr. */
  private async follow(name: string, files: AppleFiles, config: ReturnType<typeof identityConfig>): Promise<undefined> {
    const { watchIdentity } = await import('../../server/operator/watch-identity.ts')
    const stopped = new AbortController()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopped.abort())
    await watchIdentity(config, name, {
      files,
      signal: stopped.signal,
      onRenewed: (identity) => {
        const ends = identity.expiresAt?.toISOString() ?? null
        const line = this.jsonEnabled()
          ? JSON.stringify(identity)
          : `Renewed ${name}: its certificate is good until ${ends}.`
        process.stdout.write(`${line}\n`)
      },
      onRefused: (reason) => this.note(`Not renewed, and what was there goes on: ${reason}`),
    })
    return undefined
  }
}
