import { Args, Flags } from '@oclif/core'
import type { PictureOptions } from '../card-picture.ts'
import { BaseCommand, terminalWidth } from '../command/base-command.ts'
import { colorDepth, devicesFolder } from '../settings/settings.ts'

/** A command around virtual phones; it needs no access token, as phones have none. */
export abstract class DeviceCommand extends BaseCommand {
  static override baseFlags = {
    ...BaseCommand.baseFlags,
    'data-dir': Flags.string({
      summary: 'Folder of the virtual phones; XDG_DATA_HOME/passes/devices by default.',
      helpGroup: 'GLOBAL',
    }),
  }

  protected folderOf(flags: { 'data-dir'?: string | undefined }): string {
    return flags['data-dir'] ?? devicesFolder()
  }

  /** How passes are drawn on this terminal. */
  protected drawing(flags: { 'no-color'?: boolean }): PictureOptions {
    return { colorDepth: flags['no-color'] ? 1 : colorDepth(process.stdout), width: terminalWidth() }
  }
}

/** The argument that names a virtual phone. */
export const nameArg = { name: Args.string({ description: 'Name of the phone; the only one by default.' }) }

/** The flag that names a virtual phone, where a pass is the argument. */
export const deviceFlag = { device: Flags.string({ summary: 'Name of the phone; the only one by default.' }) }
