import { Flags } from '@oclif/core'
import { namedArg } from '../../cli/arguments/id-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { showDoor } from '../../cli/door/show.ts'

export default class DoorUpdate extends ClientCommand {
  static override summary = 'Rename a door, or send it to another gate.'
  static override description = 'Scans that were recorded keep their gate. Needs a token of an owner.'
  static override aliases = ['door:rename']
  static override examples = [
    '<%= config.bin %> door update "Anna" --name "Anna, spare phone"',
    '<%= config.bin %> door update 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --gate South --json',
  ]
  static override args = { door: namedArg('door') }
  static override flags = {
    name: Flags.string({ summary: 'New name, up to 100 characters.', atLeastOne: ['name', 'gate'] }),
    gate: Flags.string({ summary: 'New gate, up to 100 characters.' }),
  }

  async run() {
    const { args, flags } = await this.parse(DoorUpdate)
    const { name, gate } = flags
    const door = await this.connect(flags).doors.update({ params: { id: args.door }, body: { name, gate } })
    this.log(showDoor(door))
    return door
  }
}
