import { Args, Flags } from '@oclif/core'
import type { PictureOptions } from '../card-picture.ts'
import { BaseCommand, terminalWidth } from '../command/base-command.ts'
import { UsageError } from '../command/cli-error.ts'
import { colorDepth, devicesFolder } from '../settings/settings.ts'
import type { Device } from './phone-store.ts'

/** Base class of commands for virtual phones. They need no access token. */
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

  /** Returns the phone, with the requested language if there is one. */
  protected speaking<D extends Device>(device: D, { language }: { language?: string | undefined }): D {
    return language === undefined ? device : { ...device, language }
  }

  /** Returns the options for drawing passes on this terminal. */
  protected drawing(flags: { 'no-color'?: boolean }): PictureOptions {
    return { colorDepth: flags['no-color'] ? 1 : colorDepth(process.stdout), width: terminalWidth() }
  }
}

/** Creates the flag for the language of a phone, or for showing it in another language. */
export function languageFlag(summary: string) {
  return {
    language: Flags.custom<string>({
      summary,
      parse: async (input) => {
        if (isLanguage(input)) return input
        throw new UsageError(`--language ${input} is not a language such as de, pt-BR or zh-Hans`)
      },
    })(),
  }
}

function isLanguage(input: string): boolean {
  try {
    return new Intl.Locale(input).toString() === input
  } catch {
    return false
  }
}

/** The language flag of read-only commands. */
export const shownLanguageFlag = languageFlag('Show it as a phone of this language would; the phone keeps its own.')

/** The argument for a virtual phone. */
export const nameArg = { name: Args.string({ description: 'Name of the phone; the only one by default.' }) }

/** The flag for a virtual phone, for commands whose argument is a pass. */
export const deviceFlag = { device: Flags.string({ summary: 'Name of the phone; the only one by default.' }) }
