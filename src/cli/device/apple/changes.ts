import { fieldsOf, type PassJson, styleOf } from './pass-json.ts'

/** The text that iOS shows on its lock screen for each field with a changeMessage whose value is another now. */
export function bannersOf(before: PassJson, after: PassJson): string[] {
  const old = new Map(fieldsOf(styleOf(before)).map(({ key, value }) => [key, value]))
  return fieldsOf(styleOf(after)).flatMap(({ key, value, changeMessage }) => {
    if (changeMessage === undefined || old.get(key) === value) return []
    return [changeMessage.replaceAll('%@', () => String(value))]
  })
}
