// @ts-check
location.replace("/" + location.hash);
