import { Flags } from '@oclif/core'
import { UsageError } from '../command/errors.ts'

/** A published version to move passes to: a number, or latest. */
export const templateVersionFlag = Flags.custom<number | 'latest'>({
  helpValue: '<number>|latest',
  parse: async (text) => {
    if (text === 'latest') return text
    if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`A version is a number or latest, and not "${text}"`)
    return Number(text)
  },
})
