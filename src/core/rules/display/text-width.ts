/**
 * About how wide a text is in the sans serif of a phone, in units of its font size. The widths of letters are rounded means
 * of such fonts: good to some per cent for a word, which is enough to say that a text will be cut.
 */
export function estimateWidth(text: string): number {
  let width = 0
  for (const char of text) width += widthOf(char)
  return width
}

const FULL_WIDTH =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Extended_Pictographic}\u3000-\u303f\uff01-\uff60]/u
const NOTHING = /[\p{M}\p{Cf}\p{Cc}]/u
const LETTER_CLASSES: readonly (readonly [pattern: RegExp, width: number])[] = [
  [/[\s.,:;'’!|iIjlftr()[\]-]/u, 0.32],
  [/[mwMW@%—]/u, 0.88],
  [/\p{Lu}/u, 0.68],
  [/\p{Nd}/u, 0.62],
]
const USUAL = 0.56

function widthOf(char: string): number {
  // Digits and signs such as © are pictographs by name alone.
  if (char > '\u2000' && FULL_WIDTH.test(char)) return 1
  if (char !== '\n' && NOTHING.test(char)) return 0
  return LETTER_CLASSES.find(([pattern]) => pattern.test(char))?.[1] ?? USUAL
}
