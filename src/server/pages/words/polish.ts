import type { PageWords } from '../page-words.ts'

/** Polish: see PageWords. */
export const polish: PageWords = {
  addTo: 'Dodaj do {wallet}',
  share: 'Dodaj tę kartę do {wallet}.',
  or: '{wallet} lub {other}',
  sandbox: {
    all: 'SANDBOX – to nie jest prawdziwa karta: żaden telefon jej nie przyjmie',
    one: 'SANDBOX – to nie jest prawdziwa karta w {wallet}: żaden {phone} jej nie przyjmie',
  },
  androidPhone: 'telefon z Androidem',
  validUntil: 'Ważna do: {time}',
  addToCalendar: 'Dodaj do kalendarza',
  more: 'Więcej o tej karcie',
  state: { ready: 'Gotowe', preparing: 'W przygotowaniu' },
  inApp: {
    title: 'Otwórz w przeglądarce:',
    text: 'ta aplikacja może nie umieć dodawać kart. Zajrzyj do jej menu albo skopiuj link.',
    address: 'Link do tej strony',
    copy: 'Kopiuj link',
    copied: 'Link został skopiowany.',
  },
  phone: {
    code: 'Kod QR z adresem tej strony',
    title: 'Kontynuuj na telefonie',
    text: 'Zeskanuj ten kod aparatem telefonu.',
  },
  issuedBy: 'Wystawca: {organization}',
  reference: 'Numer zgłoszenia: {reference}',
  problems: {
    revoked: {
      title: 'Ten link został wycofany',
      what: 'Wystawca karty unieważnił ten link, więc nie można już przez niego dodać karty. Karta, która jest już w portfelu, działa dalej.',
      advice: 'Jeśli nadal potrzebujesz karty, poproś nadawcę o nowy link.',
    },
    void: {
      title: 'Ta karta została anulowana',
      what: 'Wystawca anulował kartę, więc nie można jej już dodać ani użyć.',
      advice: 'Jeśli to dla Ciebie niespodzianka, zapytaj nadawcę.',
    },
    failed: {
      title: 'Nie udało się utworzyć tej karty',
      what: 'Podczas przygotowywania karty coś poszło nie tak, więc nie ma jeszcze czego dodać. To nie Twoja wina.',
      advice: 'Powiadom nadawcę linku. Gdy to naprawi, ten sam link zadziała.',
    },
    expired: {
      title: 'Ta karta straciła ważność',
      what: 'Okres ważności tej karty minął, więc nie można jej już dodać.',
      advice: 'Jeśli uważasz, że powinna być jeszcze ważna, zapytaj nadawcę.',
    },
    suspended: {
      title: 'Ten link jest chwilowo zamknięty',
      what: 'Obecnie nie można dodawać kart tego wystawcy. Karta, która jest już w portfelu, działa dalej.',
      advice: 'Spróbuj ponownie później albo zapytaj nadawcę.',
    },
    linkExpired: {
      title: 'Ten link wygasł',
      what: 'Linki do dodania karty działają przez ograniczony czas, a czas tego linku minął.',
      advice: 'Poproś nadawcę o nowy link.',
    },
    malformed: {
      title: 'Ten link jest niekompletny',
      what: 'Brakuje części adresu albo została zmieniona; długie linki bywają ucinane w wiadomościach.',
      advice: 'Otwórz link jeszcze raz z wiadomości albo skopiuj go w całości. Jeśli to nie pomoże, poproś o nowy.',
    },
    platform: {
      title: 'Ten portfel jest niedostępny',
      what: 'Karty nie można już dodać do tego rodzaju portfela.',
      advice: 'Zapytaj nadawcę linku o inny sposób otrzymania karty.',
    },
    unknown: {
      title: 'Ten link jest nieprawidłowy',
      what: 'Nie prowadzi do żadnej karty. Mógł zostać błędnie przepisany lub zmieniony po drodze.',
      advice: 'Otwórz link jeszcze raz z wiadomości. Jeśli to nie pomoże, poproś nadawcę o nowy.',
    },
    busy: {
      title: 'Zbyt wiele odwiedzin naraz',
      what: 'Z Twojej sieci otwarto więcej linków, niż można teraz obsłużyć.',
      advice: 'Odczekaj kilka sekund i odśwież tę stronę.',
    },
    fault: {
      title: 'Nie można teraz pokazać karty',
      what: 'Coś nie działa po naszej stronie. Twój link i Twoja karta są w porządku.',
      advice: 'Odśwież tę stronę za minutę.',
    },
    refused: {
      title: 'Tej karty nie można dodać do {wallet}',
      what: '{wallet} nie przyjmuje jej w tej postaci. To nie Twoja wina, a ponowna próba nie pomoże.',
      advice: 'Powiadom nadawcę linku. Gdy to naprawi, ten sam link zadziała.',
    },
  },
}
