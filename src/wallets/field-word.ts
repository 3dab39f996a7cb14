export interface FieldWord {
  type: string | readonly string[]
  /** The maximum number of items of a list; `Infinity` for no known maximum, `undefined` if the field is not a list. */
  maxItems: number | undefined
  isRequired: boolean
}

const WORD = /^([A-Za-z0-9_|]+)(?:\[(\d*)\])?(!?)$/

/**
 * Parses the word that describes a field: a type, or the names of an enum (`FRONT|BACK`), then `[]` for a list (`[10]`
 * for at most 10 items), then `!` if the platform rejects a resource without this field.
 */
export function parseFieldWord(word: string): FieldWord {
  const [, type = '', max, required] = WORD.exec(word)!
  return {
    type: type.includes('|') ? type.split('|') : type,
    maxItems: max === undefined ? undefined : max === '' ? Number.POSITIVE_INFINITY : Number(max),
    isRequired: required === '!',
  }
}
