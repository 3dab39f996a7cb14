/** Obsolete language tags, which old phones send, with the current tags. */
const formerTags: ReadonlyMap<string, string> = new Map([['iw', 'he']])

/**
 * Returns the first locale that matches one of the languages, and the language that matches this locale best. An equal
 * tag matches best, then the same language in the same script (zh-TW and zh-Hant), and then the same language in
 * another script.
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

/**
 * Returns the language of a locale in lower case, without its region or script. Replaces an obsolete tag, such as iw for
 * Hebrew, with the current one.
 */
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
