import { Flags } from '@oclif/core'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { CliError, readNamed, UsageError } from '../../cli/command/cli-error.ts'
import { duration } from '../../cli/command/output.ts'
import { readStdinBytes } from '../../cli/command/prompt.ts'
import { webhookSecret } from '../../cli/settings/settings.ts'
import { TOLERANCE_SECONDS, verify } from '../../core/rules/crypto/signature.ts'

export default class WebhookVerify extends BaseCommand {
  static override summary = 'Check the signature of a delivery, and show why it is invalid.'
  static override description =
    'Needs no server, and sends nothing. Exits with 0 for a valid signature, and with 1 for an invalid one. Set the ' +
    'secret as PASSES_WEBHOOK_SECRET to keep it out of the process list.'
  static override examples = [
    {
      description: 'A body saved unchanged',
      command:
        "<%= config.bin %> webhook verify --payload body.json --signature 't=1767225600,v1=5f0c…' --at 1767225610",
    },
    {
      description: 'From a pipe, with the secret as a flag',
      command:
        "curl -s https://example.com/last-body | <%= config.bin %> webhook verify --secret whsec_… --signature 't=1767225600,v1=5f0c…'",
    },
  ]
  static override flags = {
    secret: Flags.string({ summary: "The endpoint's complete signing secret (PASSES_WEBHOOK_SECRET)." }),
    signature: Flags.string({ summary: 'Value of the header X-Service-Signature.', required: true }),
    payload: Flags.string({ summary: 'File with the body, byte for byte; - for stdin.', default: '-' }),
    tolerance: Flags.integer({
      summary: 'Maximum difference to the time of signing, in seconds.',
      default: TOLERANCE_SECONDS,
      min: 0,
    }),
    at: Flags.integer({ summary: 'Check as of this time, in unix seconds; now by default.', min: 0 }),
  }

  async run() {
    const { flags } = await this.parse(WebhookVerify)
    const secret = webhookSecret(flags.secret)
    if (secret === undefined) {
      throw new UsageError('No secret was given', { hint: 'give it in PASSES_WEBHOOK_SECRET or with --secret.' })
    }
    const body = flags.payload === '-' ? await readStdinBytes() : await readNamed(flags.payload)
    const at = flags.at === undefined ? new Date() : new Date(flags.at * 1000)
    const checked = verify(body, flags.signature, secret, { at, toleranceSeconds: flags.tolerance })
    if (!checked.ok) {
      throw new CliError(checked.message, { code: checked.reason.toUpperCase(), hint: checked.hint })
    }
    const age = (at.getTime() - checked.signedAt.getTime()) / 1000
    const signedAt = checked.signedAt.toISOString()
    this.log(`The signature is valid. Signed ${signedAt}, ${duration(Math.abs(age))} ${age < 0 ? 'ahead' : 'ago'}.`)
    return { valid: true, signedAt }
  }
}
