import type { PageWords } from '../page-words.ts'

/** Italian: see PageWords. */
export const italian: PageWords = {
  addTo: 'Aggiungi a(d) {wallet}',
  share: 'Aggiungi questo pass a(d) {wallet}.',
  or: '{wallet} o a(d) {other}',
  sandbox: {
    all: 'SANDBOX – non è un pass vero: nessun telefono lo accetta',
    one: 'SANDBOX – non è un pass vero in {wallet}: nessun {phone} lo accetta',
  },
  androidPhone: 'telefono Android',
  validUntil: 'Valido fino al {time}',
  addToCalendar: 'Aggiungi al calendario',
  more: 'Altro su questo pass',
  state: { ready: 'Pronto', preparing: 'In preparazione' },
  inApp: {
    title: 'Apri nel browser:',
    text: 'questa app potrebbe non riuscire ad aggiungere pass. Guarda nel suo menu o copia il link.',
    address: 'Link a questa pagina',
    copy: 'Copia link',
    copied: 'Il link è copiato.',
  },
  phone: {
    code: 'Codice QR dell’indirizzo di questa pagina',
    title: 'Continua sul telefono',
    text: 'Inquadra questo codice con la fotocamera.',
  },
  issuedBy: 'Emesso da {organization}',
  reference: 'Riferimento: {reference}',
  problems: {
    revoked: {
      title: 'Questo link è stato ritirato',
      what: 'Chi ha emesso il pass ha chiuso questo link, quindi non serve più ad aggiungerlo. Un pass già in un wallet non è interessato.',
      advice: 'Se ti serve ancora il pass, chiedi un nuovo link a chi te l’ha inviato.',
    },
    void: {
      title: 'Questo pass è stato annullato',
      what: 'Chi ha emesso il pass l’ha annullato, quindi non può più essere aggiunto o usato.',
      advice: 'Se non te l’aspettavi, chiedi a chi te l’ha inviato.',
    },
    failed: {
      title: 'Non è stato possibile creare questo pass',
      what: 'Qualcosa è andato storto nella preparazione del pass, quindi non c’è ancora nulla da aggiungere. Non dipende da te.',
      advice: 'Avvisa chi ha inviato il link. Una volta sistemato, questo stesso link funzionerà.',
    },
    expired: {
      title: 'Questo pass è scaduto',
      what: 'Il periodo di validità di questo pass è finito, quindi non può più essere aggiunto.',
      advice: 'Se pensi che debba essere ancora valido, chiedi a chi te l’ha inviato.',
    },
    suspended: {
      title: 'Questo link è chiuso per ora',
      what: 'Al momento non si possono aggiungere pass di questo emittente. Un pass già in un wallet non è interessato.',
      advice: 'Riprova più tardi con lo stesso link o chiedi a chi te l’ha inviato.',
    },
    linkExpired: {
      title: 'Questo link è scaduto',
      what: 'I link per aggiungere un pass funzionano per un tempo limitato, e quello di questo è finito.',
      advice: 'Chiedi un nuovo link a chi te l’ha inviato.',
    },
    malformed: {
      title: 'Questo link non è completo',
      what: 'Una parte dell’indirizzo manca o è stata modificata; i link lunghi a volte vengono tagliati nei messaggi.',
      advice: 'Riapri il link dal messaggio o copialo per intero. Se non basta, chiedine uno nuovo.',
    },
    platform: {
      title: 'Questo wallet non è disponibile',
      what: 'Il pass non può più essere aggiunto a questo tipo di wallet.',
      advice: 'Chiedi a chi ha inviato il link un altro modo per avere il pass.',
    },
    unknown: {
      title: 'Questo link non è valido',
      what: 'Non porta a nessun pass. Forse è stato scritto male o modificato lungo la strada.',
      advice: 'Riapri il link dal messaggio. Se non basta, chiedine uno nuovo a chi te l’ha inviato.',
    },
    busy: {
      title: 'Troppe visite in una volta',
      what: 'Dalla tua rete sono stati aperti più link di quanti se ne possano servire ora.',
      advice: 'Aspetta qualche secondo, poi ricarica questa pagina.',
    },
    fault: {
      title: 'Il pass non può essere mostrato ora',
      what: 'Qualcosa non funziona da parte nostra. Il tuo link e il tuo pass non sono interessati.',
      advice: 'Ricarica questa pagina tra un minuto.',
    },
    refused: {
      title: 'Questo pass non può essere aggiunto a(d) {wallet}',
      what: '{wallet} non lo accetta così com’è. Non dipende da te, e riprovare non serve.',
      advice: 'Avvisa chi ha inviato il link. Una volta sistemato, questo stesso link funzionerà.',
    },
  },
}
