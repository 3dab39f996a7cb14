import { Args, Flags } from '@oclif/core'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { UsageError } from '../../cli/command/cli-error.ts'
import { untilStopped } from '../../cli/command/program.ts'
import { certificateFlags, identityConfig, identityFlags, passwordOf, showIdentity } from '../../cli/identity-flags.ts'
import type { IdentityConfig, ShownIdentity } from '../../server/operator/manage-identities.ts'
import type { RenewedFrom } from '../../server/operator/renew-identity.ts'

export default class IdentityRenew extends BaseCommand {
  static override summary = 'Renew the certificate or key of an identity.'
  static override description =
    'The certificate must have the same pass type and team, because phones identify their passes by them. Running ' +
    'servers sign and push with it within 10 seconds; pushes in progress end over the old connection. Waiting ' +
    'updates continue automatically; passes jobs retry --all issues passes that failed in the meantime. A sandbox ' +
    'identity needs no files. With --watch, each renewal is one line, and rejected files are reported on stderr; ' +
    'Ctrl-C ends it with 130.'
  static override examples = [
    '<%= config.bin %> identity renew acme --certificate pass.pem --key pass.key',
    '<%= config.bin %> identity renew acme --certificate /run/secrets/pass.pem --key /run/secrets/pass.key --watch',
    '<%= config.bin %> identity renew acme-google --key-file account.json --json',
    '<%= config.bin %> identity renew acme-google --key-file /run/secrets/account.json --watch',
  ]
  static override args = { name: Args.string({ description: 'Name of the identity.', required: true }) }
  static override flags = {
    ...identityFlags,
    ...certificateFlags,
    watch: Flags.boolean({
      summary: 'Keep running, and renew whenever the files change, for example by a secret store.',
    }),
    'key-file': Flags.string({ summary: 'Key of the service account: a JSON file.', helpGroup: 'GOOGLE' }),
  }

  async run() {
    const { args, flags } = await this.parse(IdentityRenew)
    const { certificate, key, wwdr, 'key-file': keyFile } = flags
    if (certificate === undefined && key !== undefined) throw new UsageError('Give --certificate together with --key')
    const passphrase = await passwordOf(flags)
    const files = certificate === undefined ? undefined : { certificate, key, passphrase, wwdr }
    if (flags.watch) return this.follow(args.name, { files, keyFile }, identityConfig(flags))
    const { renewIdentity } = await import('../../server/operator/renew-identity.ts')
    const identity = await renewIdentity(identityConfig(flags), args.name, { files, keyFile, at: new Date() })
    this.log(showIdentity(identity))
    return identity
  }

  /** Prints each renewal on a line, also with `--json`. Errors are printed on stderr. */
  private async follow(name: string, from: RenewedFrom, config: IdentityConfig): Promise<undefined> {
    if (!from.files && from.keyFile === undefined)
      throw new UsageError('Give the files to watch: --certificate and --key, or --key-file')
    const { watchIdentity } = await import('../../server/operator/watch-identity.ts')
    return untilStopped(
      (signal) =>
        watchIdentity(config, name, {
          ...from,
          signal,
          onWatching: () => this.note(`Watching the files of ${name}; Ctrl-C ends it.`),
          onRenewed: (identity) => {
            const line = this.jsonEnabled() ? JSON.stringify(identity) : renewedLine(identity)
            process.stdout.write(`${line}\n`)
          },
          onRejected: (reason) => this.note(`Not renewed; the current certificate stays in use: ${reason}`),
        }),
      { bySigterm: true },
    )
  }
}

function renewedLine({ name, expiresAt }: ShownIdentity): string {
  return expiresAt === null
    ? `Renewed ${name}: it has another key.`
    : `Renewed ${name}: its certificate is valid until ${expiresAt.toISOString()}.`
}
