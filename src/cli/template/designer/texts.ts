import type { Languages } from '../../../core/contract/schemas/language-tags.ts'
import type { DesignerBundle } from './bundle.ts'
import type { Report } from './report.ts'

/** The assumed language of pass.json, because a bundle does not name the language. */
export const DEFAULT_LANGUAGE = 'en'
const MAX_OTHERS = 19

export class Texts {
  /** The languages of the bundle; `undefined` if it has only one. */
  readonly languages: Languages | undefined
  readonly #strings: Map<string, Map<string, string>>
  readonly #used = new Set<string>()

  constructor({ strings, images }: Pick<DesignerBundle, 'strings' | 'images'>, { unmapped, assumed }: Report) {
    const found = new Set([...Object.keys(strings), ...[...images.values()].flatMap((one) => [...one.keys()])])
    const all = [...found].filter((language) => language !== '' && language !== DEFAULT_LANGUAGE).sort()
    const others = all.slice(0, MAX_OTHERS)
    for (const language of all.slice(MAX_OTHERS)) {
      unmapped.push({ path: `${language}.lproj`, reason: `A template has at most ${MAX_OTHERS + 1} languages` })
    }
    this.#strings = new Map(
      [DEFAULT_LANGUAGE, ...others].flatMap((language) => {
        const texts = strings[language]
        return texts ? [[language, new Map(Object.entries(texts))] as const] : []
      }),
    )
    this.languages = others.length > 0 ? { default: DEFAULT_LANGUAGE, others } : undefined
    if (others.length > 0 && !found.has(DEFAULT_LANGUAGE)) {
      const reason = `The bundle does not name the language of pass.json, so it is assumed to be ${DEFAULT_LANGUAGE}`
      assumed.push({ path: 'languages.default', reason })
    }
  }

  /** Returns a text of pass.json, with its translations if there are any. */
  of(text: string): string | Record<string, string> {
    const entries = [...this.#strings].flatMap(([language, texts]) => {
      const translated = texts.get(text)
      return translated === undefined || translated === '' ? [] : [[language, translated] as const]
    })
    this.#used.add(text)
    const byLanguage = Object.fromEntries([[DEFAULT_LANGUAGE, text], ...entries])
    const isSame = Object.values(byLanguage).every((one) => one === byLanguage[DEFAULT_LANGUAGE])
    return isSame ? byLanguage[DEFAULT_LANGUAGE]! : byLanguage
  }

  /** Returns the translation of a text of pass.json into the default language, or the text itself if it has none. */
  inDefault(text: string): string {
    return this.#strings.get(DEFAULT_LANGUAGE)?.get(text) || text
  }

  /** Whether a text has a translation. If so, it belongs to the design and is not a sample value. */
  isTranslated(text: string): boolean {
    return [...this.#strings.values()].some((texts) => texts.has(text))
  }

  reportUnused({ unmapped }: Report): void {
    for (const [language, texts] of this.#strings) {
      const unused = [...texts.keys()].filter((text) => !this.#used.has(text)).length
      if (unused === 0) continue
      const reason = `${unused} of ${texts.size} texts are not in the definition`
      unmapped.push({ path: `${language}.lproj/pass.strings`, reason })
    }
  }
}
