import type { PageWords } from '../page-words.ts'

/** German: see PageWords. */
export const german: PageWords = {
  addTo: 'Zu {wallet} hinzufügen',
  share: 'Diesen Pass zu {wallet} hinzufügen.',
  or: '{wallet} oder {other}',
  sandbox: {
    all: 'SANDBOX – kein echter Pass: kein Telefon nimmt ihn an',
    one: 'SANDBOX – kein echter Pass in {wallet}: kein {phone} nimmt ihn an',
  },
  androidPhone: 'Android-Telefon',
  validUntil: 'Gültig bis {time}',
  addToCalendar: 'Zum Kalender hinzufügen',
  more: 'Mehr zu diesem Pass',
  state: { ready: 'Bereit', preparing: 'Wird vorbereitet' },
  inApp: {
    title: 'Im Browser öffnen:',
    text: 'Diese App kann vielleicht keine Pässe hinzufügen. Sieh in ihrem Menü nach oder kopiere den Link.',
    address: 'Link zu dieser Seite',
    copy: 'Link kopieren',
    copied: 'Der Link ist kopiert.',
  },
  phone: {
    code: 'QR-Code der Adresse dieser Seite',
    title: 'Auf dem Handy weitermachen',
    text: 'Scanne diesen Code mit der Kamera.',
  },
  issuedBy: 'Ausgestellt von {organization}',
  reference: 'Kennung: {reference}',
  problems: {
    revoked: {
      title: 'Dieser Link wurde zurückgezogen',
      what: 'Wer den Pass ausgestellt hat, hat diesen Link beendet; der Pass lässt sich damit nicht mehr hinzufügen. Ein Pass, der schon in einer Wallet ist, bleibt unberührt.',
      advice: 'Wenn du den Pass noch brauchst, bitte den Absender um einen neuen Link.',
    },
    void: {
      title: 'Dieser Pass wurde storniert',
      what: 'Wer den Pass ausgestellt hat, hat ihn storniert; er kann nicht mehr hinzugefügt oder benutzt werden.',
      advice: 'Wenn du das nicht erwartet hast, frag den Absender.',
    },
    failed: {
      title: 'Dieser Pass konnte nicht erstellt werden',
      what: 'Beim Vorbereiten des Passes ist etwas schiefgegangen, darum gibt es noch nichts hinzuzufügen. An dir liegt es nicht.',
      advice: 'Sag dem Absender Bescheid. Sobald es behoben ist, funktioniert dieser Link wieder.',
    },
    expired: {
      title: 'Dieser Pass ist abgelaufen',
      what: 'Die Zeit, in der dieser Pass gültig war, ist vorbei; er kann nicht mehr hinzugefügt werden.',
      advice: 'Wenn er deiner Meinung nach noch gültig sein sollte, frag den Absender.',
    },
    suspended: {
      title: 'Dieser Link ist zurzeit geschlossen',
      what: 'Pässe dieses Ausstellers können im Moment nicht hinzugefügt werden. Ein Pass, der schon in einer Wallet ist, bleibt unberührt.',
      advice: 'Versuche denselben Link später noch einmal oder frag den Absender.',
    },
    linkExpired: {
      title: 'Dieser Link ist abgelaufen',
      what: 'Links zum Hinzufügen eines Passes gelten nur eine Zeit lang, und die dieses Links ist vorbei.',
      advice: 'Bitte den Absender um einen neuen Link.',
    },
    malformed: {
      title: 'Dieser Link ist nicht vollständig',
      what: 'Ein Teil der Adresse fehlt oder wurde verändert; lange Links werden in Nachrichten manchmal abgeschnitten.',
      advice:
        'Öffne den Link noch einmal aus der Nachricht oder kopiere ihn ganz. Wenn das nicht hilft, bitte um einen neuen.',
    },
    platform: {
      title: 'Diese Wallet ist nicht verfügbar',
      what: 'Der Pass kann zu dieser Art von Wallet nicht mehr hinzugefügt werden.',
      advice: 'Frag den Absender nach einem anderen Weg zu deinem Pass.',
    },
    unknown: {
      title: 'Dieser Link ist nicht gültig',
      what: 'Er führt zu keinem Pass. Vielleicht wurde er falsch abgetippt oder unterwegs verändert.',
      advice: 'Öffne den Link noch einmal aus der Nachricht. Wenn das nicht hilft, bitte den Absender um einen neuen.',
    },
    busy: {
      title: 'Zu viele Aufrufe auf einmal',
      what: 'Aus deinem Netz wurden mehr Links geöffnet, als gerade beantwortet werden können.',
      advice: 'Warte ein paar Sekunden und lade diese Seite dann neu.',
    },
    fault: {
      title: 'Der Pass kann gerade nicht angezeigt werden',
      what: 'Auf unserer Seite funktioniert etwas nicht. Dein Link und dein Pass sind nicht betroffen.',
      advice: 'Lade diese Seite in einer Minute neu.',
    },
    refused: {
      title: 'Dieser Pass kann nicht zu {wallet} hinzugefügt werden',
      what: '{wallet} nimmt ihn so nicht an. An dir liegt es nicht, und ein neuer Versuch hilft nicht.',
      advice: 'Sag dem Absender Bescheid. Sobald es behoben ist, funktioniert dieser Link wieder.',
    },
  },
}
