import { Flags } from '@oclif/core'
import { idArg, namedArg } from '../arguments/id-argument.ts'
import { filterFlag } from '../arguments/list-flags.ts'
import { named } from '../arguments/named.ts'
import { doorsShape, showDoor } from '../door/door-output.ts'
import { PROJECT } from './example-ids.ts'
import { callCommand, listCommand, type ResourceCommands } from './resource-command.ts'

const args = { door: namedArg('door') }

/** The commands `door …`, except `invite`. */
export const commands: ResourceCommands = {
  list: listCommand({
    summary: 'List doors, newest first.',
    description:
      'A door is a phone that claimed an invitation. The list shows when each one was last seen and how many offline scans it ' +
      'has not uploaded. It includes revoked and expired doors.',
    examples: [
      { description: 'The doors that can scan now', command: 'door list --project "Spring fair" --no-revoked' },
      { description: 'All doors, for a script', command: 'door list --all --json' },
    ],
    flags: {
      project: named('project', filterFlag('Only those of this project.')),
      revoked: Flags.boolean({ summary: 'Only revoked doors; with --no-revoked only others.', allowNo: true }),
    },
    query: ({ project, revoked }) => ({ projectId: project, revoked }),
    list: ({ doors }) => doors.list,
    shape: doorsShape,
    noun: ['door', 'doors'],
    next: 'door invite',
  }),
  update: callCommand({
    summary: 'Rename a door or move it to another gate.',
    description: 'Recorded scans keep their gate. Needs a token of an owner.',
    aliases: ['door:rename'],
    examples: ['door update "Anna" --name "Anna, spare phone"', `door update ${PROJECT} --gate South --json`],
    args,
    flags: {
      name: Flags.string({ summary: 'Name, up to 100 characters.', atLeastOne: ['name', 'gate'] }),
      gate: Flags.string({ summary: 'Gate, up to 100 characters.' }),
    },
    call: ({ doors }, { args: { door }, flags: { name, gate } }) =>
      doors.update({ params: { id: door }, body: { name, gate } }),
    print: showDoor,
  }),
  revoke: callCommand({
    summary: 'Revoke a door.',
    description:
      'Its phone stops scanning within 5 seconds if it is online. Offline decisions that it has not uploaded are lost. Asks for ' +
      'confirmation; scripts add --yes. Needs a token of an owner.',
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
  uninvite: callCommand({
    summary: 'Cancel a door invitation.',
    description: 'Doors that claimed it stay; door revoke revokes them. Needs a token of an owner.',
    examples: [`door uninvite ${PROJECT}`, `door uninvite ${PROJECT} --json`],
    args: { id: idArg('door invitation') },
    async call({ doors }, { args: { id } }) {
      await doors.endInvitation({ params: { id } })
      return { id, ended: true }
    },
    print: ({ id }) => `Invitation ${id} is canceled.`,
  }),
}
