import ar from './ar/door.json' with { type: 'json' }
import de from './de/door.json' with { type: 'json' }
import en from './en/door.json' with { type: 'json' }
import es from './es/door.json' with { type: 'json' }
import fr from './fr/door.json' with { type: 'json' }
import he from './he/door.json' with { type: 'json' }
import it from './it/door.json' with { type: 'json' }
import ja from './ja/door.json' with { type: 'json' }
import ko from './ko/door.json' with { type: 'json' }
import type { SpokenLanguage } from './languages.ts'
import nl from './nl/door.json' with { type: 'json' }
import pl from './pl/door.json' with { type: 'json' }
import pt from './pt/door.json' with { type: 'json' }
import tr from './tr/door.json' with { type: 'json' }
import uk from './uk/door.json' with { type: 'json' }
import zh from './zh/door.json' with { type: 'json' }

/** The texts of the page of a door, in one language. Names in braces are placeholders. */
export type DoorWords = typeof en

/** The texts by language. A missing language or text is a type error. */
export const doorTexts: Record<SpokenLanguage, DoorWords> = {
  en,
  de,
  fr,
  es,
  pt,
  it,
  nl,
  pl,
  tr,
  uk,
  ar,
  he,
  ja,
  ko,
  zh,
}
