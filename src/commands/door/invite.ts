import { Flags } from '@oclif/core'
import { requiredFlag } from '../../cli/arguments/id-argument.ts'
import { formerly } from '../../cli/arguments/list-flags.ts'
import { parseDuration } from '../../cli/arguments/moment.ts'
import { parsePath } from '../../cli/arguments/path.ts'
import { terminalWidth } from '../../cli/command/base-command.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { count, details, localTime } from '../../cli/command/output.ts'
import { invitationSheet, phoneWarning } from '../../cli/door/door-output.ts'
import { colorDepth } from '../../cli/settings/settings.ts'
import { ApiError } from '../../client/client-errors.ts'
import { writePrivate } from '../../files/private-file.ts'

export default class DoorInvite extends ClientCommand {
  static override summary = 'Invite phones to scan at a gate.'
  static override description =
    'Shows a QR code and a link once. A phone that opens it can scan at that gate, for this project only. Each phone ' +
    "has its own token, which door revoke ends. Needs an owner's token."
  static override examples = [
    '<%= config.bin %> door invite --project "Spring fair" --gate North --expires-in 12h --phones 20',
    {
      description: 'A page to print for the staff of the gate',
      command: '<%= config.bin %> door invite --project "Spring fair" --gate North --phones 20 --svg north.svg',
    },
  ]
  static override flags = {
    project: requiredFlag('project', ' to scan for'),
    gate: Flags.string({
      summary: 'Gate of the phones, up to 100 characters; stored with each scan in the ledger.',
      required: true,
    }),
    'expires-in': Flags.string({
      summary: 'Time until the invitation ends: 15m, 12h, at most 30d.',
      default: '12h',
      ...formerly('expires'),
    }),
    phones: Flags.integer({ summary: 'Number of phones that can claim it, 1 to 1000.', min: 1, max: 1000, default: 1 }),
    svg: Flags.string({ summary: 'Also write a page to print to this file.', parse: parsePath }),
  }

  async run() {
    const { flags } = await this.parse(DoorInvite)
    const { project: projectId, gate, phones: uses } = flags
    const expiresAt = new Date(Date.now() + parseDuration(flags['expires-in'], '--expires-in') * 1000).toISOString()
    const client = this.connect(flags)
    const invitation = await client.doors.invite({ body: { projectId, gate, uses, expiresAt } })
    const { drawQr, symbolModules } = await import('../../cli/card-picture.ts')
    if (process.stdout.isTTY && !this.jsonEnabled()) {
      const depth = flags['no-color'] ? 1 : colorDepth(process.stdout)
      const drawn = await drawQr(invitation.url, { width: terminalWidth(), colorDepth: depth })
      this.log(drawn ?? 'The terminal is too narrow for the QR code: make it wider, or give --svg FILE.')
    }
    this.log(
      details([
        ['Link', invitation.url],
        ['Gate', gate],
        ['Phones', count(uses)],
        ['Ends', localTime(invitation.expiresAt)],
        ['Invitation', invitation.id],
      ]),
    )
    if (flags.svg !== undefined) {
      const modules = (await symbolModules('qr', invitation.url))!
      const projectName = await this.#nameOf(client, projectId)
      const { expiresAt } = invitation
      await writePrivate(flags.svg, invitationSheet({ modules, gate, projectName, expiresAt }))
      this.note(`Wrote ${flags.svg}.`)
    }
    const warning = phoneWarning(invitation.url)
    if (warning) this.warn(warning)
    this.note(`Keep the link now: it is not shown again. passes door uninvite ${invitation.id} ends it.`)
    return invitation
  }

  /** A token that can create invitations might not be able to read projects. */
  async #nameOf(client: ReturnType<DoorInvite['connect']>, id: string): Promise<string> {
    try {
      return (await client.projects.get({ params: { id } })).name
    } catch (error) {
      if (error instanceof ApiError && error.status === 403) return ''
      throw error
    }
  }
}
