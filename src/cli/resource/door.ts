import { Flags } from '@oclif/core'
import type { Client } from '../../client/client.ts'
import { ApiError } from '../../client/client-errors.ts'
import type { DoorInvitation } from '../../core/contract/scans/doors.ts'
import { directions } from '../../core/rules/zones/presence.ts'
import { writePrivate } from '../../files/private-file.ts'
import { filterFlag, formerly, parsePath } from '../arguments/list-flags.ts'
import { parseDuration } from '../arguments/moment.ts'
import { idArg, named, namedArg, namedFlag, noneToNull, requiredFlag } from '../arguments/named.ts'
import { drawing } from '../command/base-command.ts'
import { forceFlag, requireReplaceable } from '../command/existing-file.ts'
import { count, details, localTime } from '../command/output.ts'
import { callCommand, listCommand, PROJECT, type ResourceCommands } from '../command/resource-command.ts'
import { doorsShape, phoneWarning, showDoor } from '../door/door-output.ts'

const args = { door: namedArg('door') }

export const commands: ResourceCommands = {
  'door:invite': callCommand({
    summary: 'Invite phones to scan at a gate.',
    description:
      'Shows a QR code and a link, only once. Each phone that opens the link becomes a door: it can scan passes of ' +
      'the project at the gate, with a separate token. To revoke the token, run "passes door revoke". Needs a token ' +
      'of an owner.',
    examples: [
      'door invite --project "Spring fair" --gate North --expires-in 12h --phones 20',
      {
        description: 'Write a page to print for the staff of the gate',
        command: 'door invite --project "Spring fair" --gate North --phones 20 --svg north.svg',
      },
    ],
    flags: {
      project: requiredFlag('project', ' whose passes are scanned'),
      gate: Flags.string({
        summary: 'Gate of the phones (up to 100 characters), which the ledger stores with each scan.',
        required: true,
      }),
      'expires-in': Flags.string({
        summary: 'Lifetime of the invitation, such as 15m or 12h; at most 30d.',
        default: '12h',
        ...formerly('expires'),
      }),
      phones: Flags.integer({
        summary: 'Maximum number of phones that can use the invitation, 1-1,000.',
        min: 1,
        max: 1000,
        default: 1,
      }),
      svg: Flags.string({ summary: 'SVG file to write: a page to print, with the QR code.', parse: parsePath }),
      force: forceFlag,
    },
    check: ({ svg, force }) => requireReplaceable(svg, force),
    async call(client, input) {
      const { project: projectId, gate, phones: uses, svg, ...flags } = input.flags
      const expiresAt = new Date(Date.now() + parseDuration(flags['expires-in'], '--expires-in') * 1000).toISOString()
      const invitation = await client.doors.invite({ body: { projectId, gate, uses, expiresAt } })
      // Show the link before the file is written: the link cannot be shown again, and writing can fail.
      input.log(await showInvitation(invitation, input))
      if (svg !== undefined) {
        const { drawInvitation } = await import('../qr-page.ts')
        const projectName = await nameOf(client, projectId)
        await writePrivate(svg, await drawInvitation(invitation, { gate, projectName }))
        input.note(`Wrote ${svg}.`)
      }
      return invitation
    },
    note({ id, url }) {
      const warning = phoneWarning(url)
      const keep = `Keep the link now: it is not shown again. To cancel the invitation: passes door uninvite ${id}`
      return warning ? `Warning: ${warning}\n${keep}` : keep
    },
  }),
  'door:list': listCommand({
    summary: 'List doors, newest first.',
    description:
      'A door is a phone that accepted an invitation. The list shows when each door was last seen, and how many offline ' +
      'scans it has not uploaded. Revoked and expired doors are included.',
    examples: [
      { description: 'List doors that can scan now', command: 'door list --project "Spring fair" --no-revoked' },
      { description: 'List all doors, for a script', command: 'door list --all --json' },
    ],
    flags: {
      project: named('project', filterFlag('Only doors of this project.')),
      revoked: Flags.boolean({ summary: 'Only revoked doors; with --no-revoked, only others.', allowNo: true }),
    },
    query: ({ project, revoked }) => ({ projectId: project, revoked }),
    list: ({ doors }) => doors.list,
    shape: doorsShape,
    noun: ['door', 'doors'],
    empty: 'Next: passes door invite',
  }),
  'door:update': callCommand({
    summary: 'Rename a door or move it to another gate or zone.',
    description: 'Recorded scans keep their gate and zone. Needs a token of an owner.',
    aliases: ['door:rename'],
    examples: [
      'door update "Anna" --name "Anna, spare phone"',
      `door update ${PROJECT} --gate South --json`,
      'door update "Anna" --zone Hall --direction out',
    ],
    args,
    flags: {
      name: Flags.string({
        summary: 'New name, up to 100 characters.',
        atLeastOne: ['name', 'gate', 'zone', 'direction'],
      }),
      gate: Flags.string({ summary: 'New gate, up to 100 characters.' }),
      zone: namedFlag('zone', ' where the door scans, or "none"', { mayBeNone: true }),
      direction: Flags.option({ summary: 'Direction of the scans: into or out of the zone.', options: directions })(),
    },
    call: ({ doors }, { args: { door }, flags: { name, gate, zone, direction } }) =>
      doors.update({
        params: { id: door },
        body: { name, gate, zoneId: noneToNull(zone), direction },
      }),
    print: showDoor,
  }),
  'door:revoke': callCommand({
    summary: 'Revoke a door.',
    description:
      'The phone stops scanning within 5 seconds if it is online. It keeps offline decisions that it has not uploaded, ' +
      'and uploads them if it is invited again to the same project. Needs a token of an owner.',
    examples: ['door revoke "Anna"', `door revoke ${PROJECT} --yes --json`],
    args,
    asks: true,
    async call({ doors }, { args: { door: id }, ask }) {
      await ask(`Revoke door ${id}?`)
      await doors.revoke({ params: { id } })
      return { id, revoked: true }
    },
    print: ({ id }) => `Door ${id} is revoked.`,
  }),
  'door:uninvite': callCommand({
    summary: 'Cancel a door invitation.',
    description:
      'Doors that already used the invitation keep working; to revoke one, run "passes door revoke". Needs a token ' +
      'of an owner.',
    examples: [`door uninvite ${PROJECT}`, `door uninvite ${PROJECT} --json`],
    args: { id: idArg('door invitation') },
    async call({ doors }, { args: { id } }) {
      await doors.endInvitation({ params: { id } })
      return { id, ended: true }
    },
    print: ({ id }) => `Invitation ${id} is canceled.`,
  }),
}

async function showInvitation(
  { id, url, expiresAt }: DoorInvitation,
  { flags, isJson }: { flags: { gate: string; phones: number; 'no-color'?: boolean }; isJson: boolean },
): Promise<string> {
  const facts = details([
    ['Link', url],
    ['Gate', flags.gate],
    ['Phones', count(flags.phones)],
    ['Ends', localTime(expiresAt)],
    ['Invitation', id],
  ])
  if (!process.stdout.isTTY || isJson) return facts
  const { drawQr } = await import('../card-picture.ts')
  const drawn = await drawQr(url, drawing(flags))
  return `${drawn ?? 'The terminal is too narrow for the QR code: make it wider, or give --svg FILE.'}\n${facts}`
}

/** Returns the name of a project, or an empty text if the token cannot read projects. */
async function nameOf(client: Client, id: string): Promise<string> {
  try {
    return (await client.projects.get({ params: { id } })).name
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return ''
    throw error
  }
}
