import type { PageWords } from '../page-words.ts'

/** Spanish: see PageWords. */
export const spanish: PageWords = {
  addTo: 'Añadir a {wallet}',
  share: 'Añade este pase a {wallet}.',
  or: '{wallet} o a {other}',
  sandbox: {
    all: 'SANDBOX – no es un pase real: ningún teléfono lo acepta',
    one: 'SANDBOX – no es un pase real en {wallet}: ningún {phone} lo acepta',
  },
  androidPhone: 'teléfono Android',
  validUntil: 'Válido hasta {time}',
  addToCalendar: 'Añadir al calendario',
  more: 'Más sobre este pase',
  state: { ready: 'Listo', preparing: 'En preparación' },
  inApp: {
    title: 'Abre esta página en tu navegador:',
    text: 'puede que esta aplicación no pueda añadir pases. Mira en su menú o copia el enlace.',
    address: 'Enlace a esta página',
    copy: 'Copiar enlace',
    copied: 'El enlace está copiado.',
  },
  phone: {
    code: 'Código QR de la dirección de esta página',
    title: 'Continúa en tu teléfono',
    text: 'Escanea este código con la cámara.',
  },
  issuedBy: 'Emitido por {organization}',
  reference: 'Referencia: {reference}',
  problems: {
    revoked: {
      title: 'Este enlace se ha retirado',
      what: 'Quien emitió el pase ha anulado este enlace, así que ya no sirve para añadirlo. Un pase que ya esté en una cartera no se ve afectado.',
      advice: 'Si todavía necesitas el pase, pide un nuevo enlace a quien te lo envió.',
    },
    void: {
      title: 'Este pase se ha cancelado',
      what: 'Quien emitió el pase lo ha cancelado, así que ya no se puede añadir ni usar.',
      advice: 'Si no lo esperabas, pregunta a quien te lo envió.',
    },
    failed: {
      title: 'No se ha podido crear este pase',
      what: 'Algo ha fallado al preparar el pase, así que todavía no hay nada que añadir. No es culpa tuya.',
      advice: 'Avisa a quien te envió el enlace. Cuando lo arregle, este mismo enlace funcionará.',
    },
    expired: {
      title: 'Este pase ha caducado',
      what: 'El periodo de validez de este pase ha terminado, así que ya no se puede añadir.',
      advice: 'Si crees que todavía debería ser válido, pregunta a quien te lo envió.',
    },
    suspended: {
      title: 'Este enlace está cerrado por ahora',
      what: 'En este momento no se pueden añadir pases de este emisor. Un pase que ya esté en una cartera no se ve afectado.',
      advice: 'Prueba este mismo enlace más tarde o pregunta a quien te lo envió.',
    },
    linkExpired: {
      title: 'Este enlace ha caducado',
      what: 'Los enlaces para añadir un pase funcionan durante un tiempo limitado, y el de este ha terminado.',
      advice: 'Pide un nuevo enlace a quien te lo envió.',
    },
    malformed: {
      title: 'Este enlace no está completo',
      what: 'Falta una parte de la dirección o se ha modificado; los enlaces largos a veces se cortan en los mensajes.',
      advice: 'Vuelve a abrir el enlace desde el mensaje o cópialo entero. Si no funciona, pide uno nuevo.',
    },
    platform: {
      title: 'Esta cartera no está disponible',
      what: 'El pase ya no se puede añadir a este tipo de cartera.',
      advice: 'Pregunta a quien te envió el enlace por otra forma de obtener el pase.',
    },
    unknown: {
      title: 'Este enlace no es válido',
      what: 'No lleva a ningún pase. Puede que se haya escrito mal o que haya cambiado por el camino.',
      advice: 'Vuelve a abrir el enlace desde el mensaje. Si no funciona, pide uno nuevo a quien te lo envió.',
    },
    busy: {
      title: 'Demasiadas visitas a la vez',
      what: 'Desde tu red se han abierto más enlaces de los que se pueden atender ahora.',
      advice: 'Espera unos segundos y vuelve a cargar esta página.',
    },
    fault: {
      title: 'El pase no se puede mostrar ahora',
      what: 'Algo no funciona por nuestra parte. Tu enlace y tu pase no se ven afectados.',
      advice: 'Vuelve a cargar esta página dentro de un minuto.',
    },
    refused: {
      title: 'Este pase no se puede añadir a {wallet}',
      what: '{wallet} no lo acepta tal como está. No es culpa tuya, y volver a intentarlo no ayudará.',
      advice: 'Avisa a quien te envió el enlace. Cuando lo arregle, este mismo enlace funcionará.',
    },
  },
}
