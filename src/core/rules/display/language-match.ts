/** Obsolete language tags that old phones send. */
const formerTags: ReadonlyMap<string, string> = new Map([['iw', 'he']])

/**
 * Returns the first locale that matches one of the languages, with that language. If no tag is equal, a language with
 * another region matches, and one with the same script is preferred: zh-TW matches zh-Hant, and de-AT matches de.
 */
export function nearestLanguage(
  locales: readonly string[],
  languages: readonly string[],
): { locale: string; language: string } | undefined {
  for (const locale of locales) {
    const language =
      languages.find((other) => other.toLowerCase() === locale.toLowerCase()) ??
      languages.find((other) => bareTag(other) === bareTag(locale) && scriptOf(other) === scriptOf(locale)) ??
      languages.find((other) => bareTag(other) === bareTag(locale))
    if (language !== undefined) return { locale, language }
  }
  return undefined
}

/** Returns the language of a locale, without region and script. */
export function bareTag(locale: string): string {
  const language = locale.split('-')[0]!.toLowerCase()
  return formerTags.get(language) ?? language
}

/** Returns the likely script of a locale, such as `Hant` for zh-TW, or `undefined` for an invalid tag. */
function scriptOf(locale: string): string | undefined {
  try {
    return new Intl.Locale(locale).maximize().script
  } catch {
    return undefined
  }
}

const RIGHT_TO_LEFT = /^(?:ar|he|iw|fa|ur|ps|sd|ug|yi|dv|ckb)\b/i

export function directionOfLanguage(language: string): 'ltr' | 'rtl' {
  return RIGHT_TO_LEFT.test(language) ? 'rtl' : 'ltr'
}
